# SPDX-License-Identifier: Apache-2.0

"""An attempt that is no longer the current one harms nothing."""

from nova.compute import vm_states
from nova.db.main import models
from nova import exception
from nova import objects
from nova.scheduler.client import query
from nova.scheduler.client import report

from cell0_rebuild.conductor import resource_claims
from tests.functional import base
from tests.functional.support import databases
from tests.functional.support import races_base
from tests.functional.support import recover_base
from tests.functional.support import recovering


class StaleTestCase(races_base.RaceTestCase):
    """The first scheduler's answer is late."""

    def setUp(self):
        super().setUp()
        self._calls = 0
        self._select = query.SchedulerQueryClient.select_destinations

    def wait_until_answered(self):
        self._wait_for_assert(
            lambda: self.assertIn('is no longer the current one',
                                  self.stdlog.logger.output))

    def _answer_late(self, wait, answer=None):
        def select(*args, **kwargs):
            self._calls += 1
            if self._calls > 1:
                return self._select(*args, **kwargs)
            self.bury_as_an_operator_would()
            self.rebuild(self.server)
            wait()
            if answer:
                return answer(*args, **kwargs)
            raise exception.NoValidHost(reason='late')
        self.stub_out('nova.scheduler.client.query.SchedulerQueryClient.'
                      'select_destinations', select)


class StaleAttemptTest(StaleTestCase):

    def test_a_late_no_valid_host_leaves_the_live_server_its_resources(self):
        self._answer_late(lambda: self.active(self.server))
        self.rebuild(self.server)
        self.wait_until_answered()
        self.assertNotEqual(
            {}, self._get_allocations_by_server_uuid(self.server['id']))
        self.assert_shown_once(self.server['id'], 'ACTIVE')

    def test_a_late_no_valid_host_shows_no_server_that_is_on_its_way(self):
        late = self.useFixture(races_base.HeldMessage())
        self.rebuild(self.server)
        self._answer_late(lambda: None)
        late.deliver(0)
        self.assert_shown_once(self.server['id'], 'BUILD')
        [row] = databases.dump()['cell0']['instances']
        self.assertTrue(row['hidden'])
        self.assertEqual(1, len(databases.dump()['cell0']['instance_faults']))
        late.deliver(1)
        self.active(self.server)

    def test_a_late_host_leaves_the_live_server_resources_on_one_host(self):
        claimed = []

        def select_and_look(*args, **kwargs):
            hosts = self._select_another(*args, **kwargs)
            claimed.append(
                self._get_allocations_by_server_uuid(self.server['id']))
            return hosts
        self._answer_late(
            lambda: self.active(self.server), select_and_look)
        self.rebuild(self.server)
        self.wait_until_answered()
        self.assertEqual([2], [len(hosts) for hosts in claimed])
        self.assertEqual(
            [self._get_provider_uuid_by_host('host1')],
            list(self._get_allocations_by_server_uuid(self.server['id'])))

    def _select_another(self, *args, **kwargs):
        self._start_compute('host2')
        self.api.put_service(
            self.computes['host1'].service_ref.uuid, {'status': 'disabled'})
        return self._select(*args, **kwargs)

    def test_a_late_host_is_told_of_while_placement_does_not_answer(self):
        def fail(*args, **kwargs):
            raise exception.ConsumerAllocationRetrievalFailed(
                consumer_uuid=self.server['id'], error='away')

        def select_at_last(*args, **kwargs):
            hosts = self._select_another(*args, **kwargs)
            self.stub_out(
                'nova.scheduler.client.report.SchedulerReportClient.'
                'get_allocs_for_consumer', fail)
            return hosts
        self._answer_late(lambda: self.active(self.server), select_at_last)
        self.rebuild(self.server)
        self.wait_until_answered()
        logged = self.stdlog.logger.output
        self.assertIn('They stay in Placement: ', logged)
        self.assertNotIn('The rebuild failed', logged)
        self.assertNotIn('The rebuild ended halfway', logged)
        self.assert_shown_once(self.server['id'], 'ACTIVE')


class LateHostWithGpusTest(StaleTestCase):
    """The host has two GPUs, and the stale attempt claims the other one."""

    GPU = 'CUSTOM_GPU'

    def bury(self, **body):
        return super().bury(flavorRef=self._create_flavor(
            extra_spec={f'resources:{self.GPU}': '1'}), **body)

    def test_a_late_host_that_claims_another_gpu_takes_none_away(self):
        host = self._get_provider_uuid_by_host('host1')
        gpus = [self._add_gpu(host, name) for name in ('gpu1', 'gpu2')]
        claimed = []

        def select_and_look(*args, **kwargs):
            claimed.append(self._claimed())
            hosts = self._select(*args, **kwargs)
            claimed.append(self._claimed())
            return hosts
        self._answer_late(
            lambda: self.active(self.server), select_and_look)
        self.rebuild(self.server)
        self.wait_until_answered()
        before, between = claimed
        self.assertEqual({host, *gpus}, set(between))
        self.assertEqual(1, len(set(between) - set(before)))
        # The compute may have given the server both.
        self.assertEqual(between, self._claimed())

    def _claimed(self):
        return {provider: found['resources'] for provider, found in
                self._get_allocations_by_server_uuid(
                    self.server['id']).items()}

    def _add_gpu(self, host, name):
        self.placement.put(
            f'/resource_classes/{self.GPU}', {}, version='1.7')
        gpu = self.placement.post('/resource_providers', {
            'name': name, 'parent_provider_uuid': host},
            version='1.20').body['uuid']
        self._set_inventory(gpu, {
            'resource_class': self.GPU, 'total': 1})
        return gpu


class StaleRowTest(recover_base.RecoverTestCase):

    def test_the_row_that_a_stale_conductor_creates_goes(self):
        buried = []

        def bury(*args, **kwargs):
            buried.append(recovering.recover(self.server['id']))
        self.rebuild_until('nova.objects.Instance.create', before=bury)
        self.assertEqual([0], [code for code, _ in buried])
        self.assert_buried()


class StaleClaimTest(races_base.RaceTestCase):

    def test_a_stale_conductor_leaves_a_live_server_its_resources(self):
        self._check_left_to_live_server(self._release)

    def test_so_it_does_if_the_row_goes_back_and_the_message_arrives(self):
        def show_and_release(api, context, instance, *args, **kwargs):
            databases.update('cell1', models.Instance, instance.uuid,
                             vm_state=vm_states.ERROR)
            self._release(api, context, instance, *args, **kwargs)
        self._check_left_to_live_server(show_and_release)

    def _check_left_to_live_server(self, release):
        self.stub_out(recovering.RELEASE_PATIENCE, 1)
        self.useFixture(base.Interception(base.CAST, before=release))
        self.rebuild(self.server)
        server = self.active(self.server)
        [claimed] = self._get_allocations_by_server_uuid(
            server['id']).values()
        self.assertEqual(1, claimed['resources']['VCPU'])

    def _release(self, api, context, instance, *args, **kwargs):
        """Do what a conductor does whose attempt had chosen this host."""
        resource_claims.release(
            context.elevated(), report.report_client_singleton(),
            instance.uuid, objects.Selection(
                service_host=kwargs['host'], nodename=kwargs['node'],
                compute_node_uuid=self._get_provider_uuid_by_host(
                    kwargs['host'])))
