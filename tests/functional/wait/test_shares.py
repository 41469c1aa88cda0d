# SPDX-License-Identifier: Apache-2.0

"""The share of a project, of what real Placement and real quotas say."""

import ddt
from nova import context as nova_context
from nova import exception
from nova.tests.unit import fake_requests
from openstack import exceptions as sdk_exc
from oslo_limit import exception as limit_exc
from oslo_limit import fixture as limit_fixture

from cell0_rebuild import exceptions
from cell0_rebuild.wait.census import shares
from tests.functional import base
from tests.functional.support import counting


@ddt.ddt
class SharesTestCase(base.FunctionalTestCase):
    """A project with a server of one core and 512 MiB."""

    def setUp(self):
        super().setUp()
        self._start_compute('host1')
        self.project = self.api.project_id
        self.flags(cores=8, ram=2048, group='quota')

    def share(self):
        """Return the share of the project."""
        return shares.share(nova_context.get_admin_context(), self.project)

    def create(self):
        """Create the server."""
        self._create_server(networks='none', flavor_id=self._create_flavor(
            vcpu=1, memory_mb=512, disk=1, ephemeral=0))

    def test_who_uses_nothing_has_no_share(self):
        self.assertEqual(0, self.share())

    def test_the_resource_counts_that_is_used_most(self):
        self.create()
        self.assertEqual(512 / 2048, self.share())
        self.flags(cores=2, group='quota')
        self.assertEqual(1 / 2, self.share())

    def test_the_quota_of_the_project_comes_before_the_default(self):
        self.create()
        self.admin_api.update_quota({'ram': 4096}, self.project)
        self.assertEqual(1 / 8, self.share())

    def test_what_has_no_limit_does_not_count(self):
        self.create()
        self.flags(ram=-1, group='quota')
        self.assertEqual(1 / 8, self.share())
        self.flags(cores=-1, group='quota')
        self.assertEqual(0, self.share())

    def test_a_limit_of_nothing_is_overused(self):
        self.create()
        self.flags(cores=0, group='quota')
        self.assertEqual(1, self.share())

    def test_limits_of_keystone_count(self):
        self.create()
        self.flags(driver='nova.quota.UnifiedLimitsDriver', group='quota')
        self.useFixture(limit_fixture.LimitFixture(
            {'servers': 10, 'class:VCPU': 5, 'class:MEMORY_MB': -1}, {}))
        self.assertEqual(1 / 5, self.share())

    @ddt.data(limit_exc.SessionInitError('away'), KeyError('model'),
              sdk_exc.HttpException('503'), ValueError('no endpoint'))
    def test_limits_that_keystone_does_not_tell_are_an_outage(self, error):
        self.flags(driver='nova.quota.UnifiedLimitsDriver', group='quota')

        def fail(*args):
            raise error
        self.stub_out('oslo_limit.limit._get_keystone_connection', fail)
        self.assertRaises(exceptions.NoPlacement, self.share)

    def test_servers_that_only_wait_do_not_count(self):
        self.reserve_vcpus('host1', 10)
        self.bury()
        self.assertEqual(0, self.share())

    def test_a_project_costs_one_request_to_placement(self):
        counts = self.useFixture(counting.CountingFixture())
        counts.count_requests(self)
        with counts.step('shares') as found:
            self.share()
        self.assertEqual(1, found['http placement get'])

    def test_usage_that_cannot_be_told_is_an_outage(self):
        self.stub_out(
            'nova.scheduler.client.report.SchedulerReportClient.'
            'get_usages_counts_for_quota', self.fails)
        self.assertRaises(exceptions.NoPlacement, self.share)

    def fails(self, *args, **kwargs):
        raise exception.UsagesRetrievalFailed(
            project_id=self.project, user_id='')

    def test_placement_that_refuses_is_told(self):
        self.stub_out(
            'nova.scheduler.client.report.SchedulerReportClient.get',
            lambda *args, **kwargs: fake_requests.FakeResponse(503, 'busy'))
        self.assertRaises(exceptions.NoPlacement, self.share)
