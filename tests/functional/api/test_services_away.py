# SPDX-License-Identifier: Apache-2.0

"""A service or database is away, and the answer tells which."""

from glanceclient import exc as glance_exc
from keystoneauth1 import exceptions as ks_exc
from neutronclient.common import exceptions as neutron_exc
from nova import exception
from oslo_db import exception as db_exc
from oslo_limit import exception as limit_exc

from cell0_rebuild import exceptions
from cell0_rebuild.move import location
from tests.functional import base
from tests.functional.support import databases
from tests.functional.support import recovering

_REPORT = 'nova.scheduler.client.report.SchedulerReportClient'


class ServiceAwayTest(base.FunctionalTestCase):

    def setUp(self):
        super().setUp()
        self.server = self.bury(
            networks=[{'port': self.neutron.port_1['id']}])
        self._start_compute('host1')

    def test_a_network_service_that_is_away_is_told(self):
        self._assert_told_of(
            'network service', neutron_exc.ServiceUnavailable(),
            'nova.network.neutron.API.validate_networks')

    def test_an_image_service_that_is_away_is_told(self):
        self._assert_told_of(
            'image service', exception.GlanceConnectionFailed(
                server='it', reason='away'), 'nova.image.glance.API.get')

    def test_a_port_that_neutron_cannot_show_is_told(self):
        self._assert_told_of(
            'Failed to access port', neutron_exc.ServiceUnavailable(),
            'nova.tests.fixtures.NeutronFixture.show_port')

    def test_an_image_service_that_is_broken_is_told(self):
        self._assert_told_of(
            'image service', glance_exc.HTTPInternalServerError('broken'),
            'nova.image.glance.API.get')

    def test_a_placement_service_that_is_away_is_told(self):
        self.flags(count_usage_from_placement=True, group='quota')
        self._assert_told_of(
            'placement service', ks_exc.ConnectFailure(), f'{_REPORT}.get')

    def test_a_placement_service_that_is_broken_is_told(self):
        self.flags(count_usage_from_placement=True, group='quota')
        self._assert_told_of(
            'placement service', exception.ConsumerAllocationRetrievalFailed(
                consumer_uuid=self.server['id'], error='broken'),
            f'{_REPORT}.get_allocs_for_consumer')

    def test_a_placement_service_that_counts_no_usage_is_told(self):
        self.flags(count_usage_from_placement=True, group='quota')
        self._assert_told_of(
            'placement service', exception.UsagesRetrievalFailed(
                project_id='one', user_id='another'),
            f'{_REPORT}.get_usages_counts_for_quota')

    def test_an_identity_service_that_tells_no_limits_is_told(self):
        self.flags(driver='nova.quota.UnifiedLimitsDriver', group='quota')
        self._assert_told_of(
            'identity service', limit_exc.SessionInitError('away'),
            'nova.limit.placement._get_enforcer')

    def test_a_database_that_is_away_at_first_is_told(self):
        self._assert_told_of(
            'A database', db_exc.DBConnectionError(),
            base.name_of(location._mapping_and_spec))

    def test_a_database_that_is_away_before_the_move_is_told(self):
        self._assert_told_of(
            'A database', db_exc.DBConnectionError(),
            'nova.objects.BlockDeviceMappingList.get_by_instance_uuid')

    def test_a_database_that_is_away_when_it_is_taken_back_is_told(self):
        def be_silent(*args):
            raise exceptions.NoConductor('no answer')

        def be_away(*args):
            raise db_exc.DBConnectionError()
        self.stub_out(recovering.REQUEST, be_silent)
        self.stub_out(recovering.TAKE, be_away)
        self.assertIn('a database does not answer',
                      self.assert_refused(409, self.server))
        self.assert_shown_once(self.server['id'], 'BUILD')

    def test_a_lost_answer_and_a_hiccup_of_the_database_build_it(self):
        def lose(*args):
            raise exceptions.NoConductor('no answer')

        def be_away(*args):
            raise db_exc.DBConnectionError()
        self.useFixture(base.Interception(
            recovering.REQUEST,
            after=lose))
        hiccup = self.useFixture(base.Interception(
            recovering.ANSWER, before=be_away))
        self.rebuild(self.server)
        self.active(self.server)
        self.assertNotIn('before', hiccup.waiting())

    def _assert_told_of(self, service, error, where):
        """Check the answer when the calls of a function fail."""
        before = databases.dump()
        with base.fixtures.MockPatch(where, side_effect=error):
            answer = self.assert_refused(409, self.server)
        self.assertIn(service, answer)
        self.assertIn('ry again later', answer)
        self.assertEqual(
            [], databases.differences(before, databases.dump()))
