# SPDX-License-Identifier: Apache-2.0

"""A rebuild is checked against the quota of the server's owner."""

from nova import context as nova_context
from nova.db.api import models as api_models
from nova import objects
from nova.scheduler.client import report
from nova.tests import fixtures as nova_fixtures
from oslo_limit import fixture as limit_fixture
from oslo_utils.fixture import uuidsentinel

from tests.functional import base
from tests.functional.support import databases
from tests.functional.support import host_mappings
from tests.functional.support import recovering

# Of the flavor that servers are made with.
_NEEDS = {'instances': 1, 'cores': 1, 'ram': 512}


class QuotaTestCase(base.FunctionalTestCase):

    # How many hosts a burial has left a claim on.
    claims = 0

    def setUp(self):
        super().setUp()
        self.api = self.api_fixture.api  # an owner who is no admin
        self.api.microversion = base.STOCK
        self.server = self.make_server()
        self.assertEqual(self.claims, len(
            self._get_allocations_by_server_uuid(self.server['id'])))
        self._start_compute('host1')

    def make_server(self):
        return self.bury()

    def assert_over_quota(self, needle):
        """Check that a rebuild is refused, and that nothing changed."""
        claimed = self._get_allocations_by_server_uuid(self.server['id'])
        self.assertIn(
            needle, self.assert_refused_without_trace(403, self.server))
        self.assertEqual(
            claimed, self._get_allocations_by_server_uuid(self.server['id']))

    def rebuild_while(self, change):
        """Rebuild; quota changes when nova-api has checked it."""
        self.useFixture(base.Interception(
            recovering.PROBE,
            after=lambda *args: change()))
        self.rebuild(self.server)

    def assert_buried_for(self, needle):
        """Check that the last check has brought the server back."""
        server = self.buried_again(self.server)
        self.assertIn(needle, server['fault']['message'])
        self.assertEqual([], databases.rows_with(
            server['id'], databases.dump()['cell1']))
        self._wait_for_assert(lambda: self.assertEqual(
            {}, self._get_allocations_by_server_uuid(server['id'])))
        self.assertEqual(
            [('create', ['Error']), ('rebuild', ['Error'])],
            self.actions(server))

    def leave_claimed(self, resources, **changes):
        """Have a burial have left a claim of the server.

        :param changes: what the consumer has that is not the server's.
        """
        report.report_client_singleton().put_allocations(
            nova_context.get_admin_context(), self.server['id'], {
                'allocations': {self._get_provider_uuid_by_host('host1'): {
                    'resources': resources}},
                'project_id': self.server['tenant_id'],
                'user_id': self.server['user_id'],
                'consumer_generation': None, **changes})
        self.assertEqual(1, len(
            self._get_allocations_by_server_uuid(self.server['id'])))

    def be_an_operator(self):
        self.api = base.api_client.TestOpenStackClient(
            'admin', self.api.base_url,
            project_id=uuidsentinel.operators, roles=['admin'])
        self.assertNotEqual(self.server['user_id'], self.api.auth_user)


class DatabaseQuotaTest(QuotaTestCase):
    """Usage is counted in the databases, with the buried server."""

    counts_placement = False

    def setUp(self):
        super().setUp()
        self.flags(count_usage_from_placement=self.counts_placement,
                   group='quota')

    def test_at_exactly_the_limit_it_passes(self):
        self.flags(**_NEEDS, group='quota')
        self.rebuild(self.server)
        self.active(self.server)

    def test_below_what_it_takes_it_is_403_and_nothing_changes(self):
        self.flags(**_NEEDS, group='quota')
        for name, need in _NEEDS.items():
            self.flags(**{name: need - 1}, group='quota')
            self.assert_over_quota(f"Quota exceeded for resources: ['{name}'")
            self.flags(**_NEEDS, group='quota')

    def test_over_it_only_at_the_last_check_it_is_buried_again(self):
        self.rebuild_while(lambda: self.flags(cores=0, group='quota'))
        self.assert_buried_for('Quota exceeded for cores')
        self.flags(cores=1, group='quota')
        self.rebuild(self.server)
        self.active(self.server)


class PlacementQuotaTest(DatabaseQuotaTest):
    """The same, with cores and ram counted from Placement."""

    counts_placement = True


class UnmigratedQuotaTest(DatabaseQuotaTest):
    """Nova counts in its databases until every mapping has its user."""

    counts_placement = True

    def setUp(self):
        super().setUp()
        objects.InstanceMapping(
            nova_context.get_admin_context(),
            instance_uuid=uuidsentinel.other, user_id='other',
            project_id=self.server['tenant_id'],
            cell_mapping=self.cell_mappings['cell1']).create()
        databases.update('api', api_models.InstanceMapping,
                         uuidsentinel.other, user_id=None)


class _LeftClaim:
    """Nova has left what it claimed for the server when it buried it."""

    claims = 1

    def make_server(self):
        self._start_compute('host0')
        host_mappings.remove('host0')
        server = super().make_server()
        host_mappings.add('host0', self.cell_mappings['cell1'])
        return server


class PlacementClaimTest(_LeftClaim, PlacementQuotaTest):
    """The claim is a part of what Placement counts."""

    def test_of_what_it_has_placement_is_asked_once(self):
        get, asked = report.SchedulerReportClient.get, []

        def listen(client, url, *args, **kwargs):
            asked.append(url.partition('?')[0])
            return get(client, url, *args, **kwargs)
        self.stub_out(
            'nova.scheduler.client.report.SchedulerReportClient.get', listen)
        before = []
        self.rebuild_while(lambda: before.extend(asked))
        self.active(self.server)
        self.assertEqual(
            [f'/allocations/{self.server["id"]}', '/usages'], before)


class PartOfAClaimTest(QuotaTestCase):

    def setUp(self):
        super().setUp()
        self.flags(count_usage_from_placement=True, **_NEEDS, group='quota')

    def test_what_is_not_claimed_is_still_asked_for(self):
        self.leave_claimed({'VCPU': 1})
        self.flags(ram=511, group='quota')
        self.assert_over_quota("['ram']")
        self.flags(ram=512, group='quota')
        self.rebuild(self.server)
        self.active(self.server)

    def test_pinned_cores_are_cores(self):
        self.offer_pcpus('host1', 2)
        self.leave_claimed({'PCPU': 1})
        self.rebuild(self.server)
        self.active(self.server)

    def test_what_is_claimed_for_another_project_does_not_count(self):
        self.leave_claimed({'VCPU': 1}, project_id=uuidsentinel.another)
        self.flags(cores=0, group='quota')
        self.assert_over_quota("['cores']")

    def test_what_is_claimed_for_another_user_does_not_count(self):
        self.admin_api.update_quota(
            {'cores': 0, 'force': True}, self.server['tenant_id'],
            self.server['user_id'])
        self.leave_claimed({'VCPU': 1}, user_id='another')
        self.assert_over_quota("['cores']")


class OwnersQuotaTest(QuotaTestCase):

    def limit(self, project_id, user_id=None, **limits):
        self.admin_api.update_quota(
            dict(limits, force=True), project_id, user_id)

    def test_without_quota_an_operator_may_rebuild_for_an_owner(self):
        self.flags(count_usage_from_placement=True, group='quota')
        self.limit(uuidsentinel.operators, instances=0, cores=0, ram=0)
        self.be_an_operator()
        self.rebuild(self.server)
        self.active(self.server)

    def test_without_quota_of_the_owner_an_operator_may_not(self):
        self.limit(self.server['tenant_id'], instances=0)
        self.be_an_operator()
        self.assert_over_quota("['instances']")

    def test_the_quota_of_a_user_is_checked(self):
        self.limit(self.server['tenant_id'], self.server['user_id'], cores=0)
        self.assert_over_quota("['cores']")

    def test_the_quota_of_another_user_does_not_matter(self):
        self.limit(self.server['tenant_id'], 'another', instances=0, cores=0)
        self.rebuild(self.server)
        self.active(self.server)

    def test_the_quota_of_its_user_is_checked_for_an_operator_too(self):
        self.flags(count_usage_from_placement=True, group='quota')
        self.limit(self.server['tenant_id'], self.server['user_id'], ram=511)
        self.be_an_operator()
        self.assert_over_quota("['ram']")


class UnifiedQuotaTestCase(QuotaTestCase):
    """Limits are registered in Keystone."""

    needs = {'servers': 2, 'class:VCPU': 2, 'class:MEMORY_MB': 512,
             'class:DISK_GB': 2}

    def setUp(self):
        super().setUp()
        self.flags(driver='nova.quota.UnifiedLimitsDriver', group='quota')
        self.limits = dict(self.needs)
        self.useFixture(limit_fixture.LimitFixture(
            # What operators have is too little.
            {**dict.fromkeys(self.needs, 1), 'server_metadata_items': 1},
            {self.server['tenant_id']: self.limits}))

    def make_server(self):
        self.bury()
        return self.bury(flavorRef=self._create_flavor(
            vcpu=2, memory_mb=512, disk=2, ephemeral=0, swap=0))


class UnifiedQuotaTest(UnifiedQuotaTestCase):

    def test_at_exactly_the_limit_it_passes(self):
        self.rebuild(self.server)
        self.active(self.server)

    def test_below_what_it_takes_it_is_403_and_nothing_changes(self):
        for name, need in self.needs.items():
            self.limits[name] = need - 1
            self.assert_over_quota(name)
            self.limits[name] = need

    def test_over_it_only_at_the_last_check_it_is_buried_again(self):
        need = self.needs['class:VCPU']
        self.rebuild_while(
            lambda: self.limits.update({'class:VCPU': need - 1}))
        self.assert_buried_for('class:VCPU')
        self.limits['class:VCPU'] = need
        self.rebuild(self.server)
        self.active(self.server)

    def test_the_limits_are_the_owners_also_for_an_operator(self):
        self.be_an_operator()
        self.rebuild(self.server)
        self.active(self.server)

    def test_without_limits_of_the_owner_an_operator_may_not(self):
        self.limits['class:MEMORY_MB'] -= 1
        self.be_an_operator()
        self.assert_over_quota('class:MEMORY_MB')

    def test_too_much_metadata_is_403(self):
        self.assert_refused(
            403, self.server, metadata={'a': '1', 'b': '2'})


class UnifiedPinnedClaimTest(UnifiedQuotaTestCase):
    """What is claimed was asked for with another image."""

    def setUp(self):
        super().setUp()
        self.offer_pcpus('host1', 2)
        self.leave_claimed({'PCPU': 2})

    def test_where_pinned_cores_are_cores_they_are_the_servers(self):
        self.flags(
            unified_limits_count_pcpu_as_vcpu=True, group='workarounds')
        self.rebuild(self.server)
        self.active(self.server)

    def test_where_they_are_not_the_server_takes_others(self):
        self.limits['class:VCPU'] = 1
        self.assert_over_quota('class:VCPU')


class UnifiedClaimTest(_LeftClaim, UnifiedQuotaTest):
    """The claim is a part of what Placement counts, as is the other's."""

    needs = {'servers': 2, 'class:VCPU': 3, 'class:MEMORY_MB': 1024,
             'class:DISK_GB': 3}


class PortQuotaTest(QuotaTestCase):
    """Ports are Neutron's to count; a create looks once before, so do we."""

    def make_server(self):
        return self.bury(
            networks=[{'uuid': nova_fixtures.NeutronFixture.network_1['id']}])

    def test_without_a_port_to_spare_it_is_403_and_nothing_changes(self):
        self.stub_out(
            'nova.tests.fixtures.NeutronFixture.show_quota',
            lambda _self, project_id: {'quota': {
                'port': 2 if project_id == self.server['tenant_id'] else -1}})
        self.be_an_operator()
        self.assert_over_quota('Maximum number of ports exceeded')
