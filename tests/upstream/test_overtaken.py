# SPDX-License-Identifier: Apache-2.0

"""What Nova itself loses when something happens to what it works on.

What is shown here is left out by :mod:`tests.integration.stress`,
:mod:`tests.integration.consistency` and :mod:`tests.faults.series`, which
could not tell it from a fault of the package.
"""

import threading
import uuid

from nova import context as nova_context
from nova import exception
from nova import objects

from tests.faults import remains
from tests.functional import base
from tests.functional.support import cinder
from tests.functional.support import cyborg
from tests.functional.support import recovering

_DRIVER = 'nova.virt.fake.FakeDriver'
_CHECKS = 'nova.compute.api.API._checks_for_create_and_rebuild'
_LOOK_FOR_REQUEST = 'nova.compute.api.API._delete_while_booting'
_CLAIM = 'nova.compute.resource_tracker.ResourceTracker.instance_claim'
_CONDUCTOR = 'nova.conductor.manager.ComputeTaskManager'
_SCHEDULER = 'nova.scheduler.manager.SchedulerManager.select_destinations'


class OvertakenTest(base.FunctionalTestCase):

    # The suite enables it around each test, or not.
    enabled = False

    def setUp(self):
        super().setUp()
        self.cinder = self.useFixture(cinder.Cinder(self))
        self.cyborg = self.useFixture(cyborg.Cyborg())
        self._start_compute('host1')
        self.image = self.glance.auto_disk_config_enabled_image['id']
        self.volume = str(uuid.uuid4())

    def create(self, status):
        """Create a server with a volume and wait until Nova is done."""
        server = self._build_server(networks='none', image_uuid=self.image)
        server['block_device_mapping_v2'] = [
            {'boot_index': 0, 'source_type': 'image', 'uuid': self.image,
             'destination_type': 'local', 'delete_on_termination': True},
            {'boot_index': -1, 'source_type': 'volume', 'uuid': self.volume,
             'destination_type': 'volume'}]
        return self._wait_for_server_parameter(
            self.api.post_server({'server': server}),
            {'status': status, 'OS-EXT-STS:task_state': None})

    def in_the_middle(self, method, change, when='before'):
        """Do something to the only server before Nova's next such call.

        :param when: or ``after``.
        """
        def act(*args, **kwargs):
            [server] = self.api.get_servers(detail=False)
            change(server)
        self.useFixture(base.Interception(method, **{when: act}))

    def reset(self, server):
        """Reset the state, as an administrator."""
        self.api.post_server_action(
            server['id'], {'os-resetState': {'state': 'error'}})

    def describe(self, server):
        """Change the description, as the owner."""
        self.api.put_server(
            server['id'], {'server': {'description': 'late'}})

    def remove(self, server):
        """Delete it, as the owner."""
        self.api.delete_server(server['id'])

    def remove_at_once(self, server):
        """Delete it, and wait until it is gone."""
        self.remove(server)
        self._wait_until_deleted(server)

    def rebuild_on_host(self, server, status, task_state=None):
        """Have Nova itself rebuild a server, and wait for what it becomes."""
        self.rebuild(server, base.STOCK, imageRef=self.image)
        return self._wait_for_server_parameter(server, {
            'status': status, 'OS-EXT-STS:task_state': task_state})

    def fault(self, server):
        """Return the message of the fault, which comes after the status."""
        self._wait_for_assert(lambda: self.assertIn(
            'fault', self.api.get_server(server['id'])))
        return self.api.get_server(server['id'])['fault']['message']

    def allocations(self, server):
        return self._get_allocations_by_server_uuid(server['id'])

    def ended(self, server):
        """Return the events of the last action that have ended."""
        [last, *_] = self.api.get_instance_actions(server['id'])
        action = self.admin_api.api_get(
            f'/servers/{server["id"]}/os-instance-actions/'
            f'{last["request_id"]}').body['instanceAction']
        return [event['event'] for event in action['events']
                if event['finish_time']]

    def test_a_create_whose_conductor_dies_first_leaves_its_request(self):
        self.useFixture(base.Interception(
            f'{_CONDUCTOR}._schedule_instances', before=recovering.crash))
        server = self.api.post_server(
            {'server': self._build_server(networks='none')})
        self.remove_at_once(server)
        self.assertEqual(
            {'orphans in api.instance_mappings',
             'orphans in api.request_specs'}, remains.of(server['id']))

    def test_a_burial_whose_conductor_dies_last_is_listed_for_ever(self):
        [service] = self.admin_api.get_services(binary='nova-compute')
        self.admin_api.put_service(service['id'], {'status': 'disabled'})
        self.useFixture(base.Interception(
            'nova.objects.BuildRequest.destroy', before=recovering.crash))
        server = self.create('ERROR')
        self.remove_at_once(server)
        self.assertIn(remains.BUILD_REQUEST, remains.of(server['id']))
        self.assertEqual([server['id']], [
            listed['id'] for listed in self.api.get_servers()])
        self.assertEqual(404, self.api.api_request(
            f'/servers/{server["id"]}', method='DELETE').status_code)

    def test_a_reset_in_a_rebuild_loses_the_allocation(self):
        server = self.create('ACTIVE')
        self.assertNotEqual({}, self.allocations(server))
        self.in_the_middle(f'{_DRIVER}.spawn', self.reset)
        server = self.rebuild_on_host(server, 'ERROR')
        self.assertIn("{'task_state': None}", self.fault(server))
        server = self.rebuild_on_host(server, 'ACTIVE')
        self.assertEqual('host1', server['OS-EXT-SRV-ATTR:host'])
        self.assertEqual({}, self.allocations(server))

    def test_a_reset_in_a_rebuild_has_the_server_stay_in_it(self):
        server = self.create('ACTIVE')
        self.in_the_middle(f'{_DRIVER}.destroy', self.reset)
        self.rebuild_on_host(
            server, 'REBUILD', 'rebuild_block_device_mapping')
        self._wait_for_assert(lambda: self.assertIn(
            'Error', dict(self.actions(server))['rebuild']))
        self.assertEqual(
            'REBUILD', self.api.get_server(server['id'])['status'])

    def test_a_rebuild_that_meets_another_one_is_answered_with_500(self):
        server = self.create('ACTIVE')
        self.in_the_middle(_CHECKS, lambda server: self.rebuild(
            server, base.STOCK, imageRef=self.image))
        self.assertIn('UnexpectedTaskStateError', self.assert_refused(
            500, server, base.STOCK, imageRef=self.image))

    def test_a_rebuild_that_meets_a_delete_is_answered_with_500(self):
        server = self.create('ACTIVE')
        # Its delete stays in the queue.
        self.computes['host1'].stop()
        self.in_the_middle(_CHECKS, self.remove)
        self.assertIn('UnexpectedDeletingTaskStateError', self.assert_refused(
            500, server, base.STOCK, imageRef=self.image))

    def test_a_delete_in_a_rebuild_leaves_the_attachment(self):
        server = self.create('ACTIVE')
        [first] = self.cinder.attachments(self.volume)
        self.in_the_middle(
            f'{_DRIVER}.power_off', self.remove_at_once, 'after')
        self.rebuild(server, base.STOCK, imageRef=self.image)
        self._wait_until_deleted(server)
        self._wait_for_assert(lambda: self.assertEqual(
            1, len(self.cinder.attachments(self.volume))))
        self.assertNotIn(first, self.cinder.attachments(self.volume))

    def test_a_rebuild_that_another_has_overtaken_leaves_an_attachment(self):
        server = self.create('ACTIVE')
        made = []

        def rebuild(server):
            self.rebuild_on_host(server, 'ACTIVE')
            made.extend(self.cinder.attachments(self.volume))
        self.in_the_middle(_CHECKS, rebuild)
        # Cinder refuses to attach it twice on a host.
        self.rebuild_on_host(server, 'ERROR')
        [volume] = self.api.get_server_volumes(server['id'])
        self.assertEqual({*made}, {*self.cinder.attachments(
            self.volume)} - {volume['attachment_id']})

    def test_a_rebuild_after_a_delete_that_placement_fails_never_ends(self):
        server = self.create('ACTIVE')

        def fail(*args, **kwargs):
            raise exception.ResourceProviderSyncFailed()
        self.useFixture(base.Interception(
            'nova.compute.manager.ComputeManager._update_resource_tracker',
            before=fail))
        self.remove(server)
        self._wait_for_server_parameter(
            server, {'status': 'ERROR', 'OS-EXT-STS:task_state': None})
        self.rebuild(server, base.STOCK, imageRef=self.image)
        self._wait_for_assert(lambda: self.assertIn(
            'compute_rebuild_instance', self.ended(server)))
        self._wait_for_server_parameter(server, {
            'status': 'REBUILD', 'OS-EXT-STS:task_state': 'rebuilding'})
        mapping = objects.InstanceMapping.get_by_instance_uuid(
            nova_context.get_admin_context(), server['id'])
        self.assertTrue(mapping.queued_for_delete)

    def test_a_delete_before_the_claim_leaves_a_row(self):
        self.in_the_middle(_CLAIM, self.remove_at_once)
        server = self.api.post_server({'server': self._build_server(
            networks='none', image_uuid=self.image)})
        self._wait_for_assert(lambda: self.assertIn(
            remains.EXTRA, remains.of(server['id'])))

    def test_a_delete_that_has_read_no_host_leaves_the_port_bound(self):
        begun, built, met = threading.Event(), threading.Event(), []

        def wait(*args, **kwargs):
            begun.set()
            built.wait(30)

        def begin(server):
            removal = threading.Thread(target=self.remove, args=[server])
            removal.start()
            self.addCleanup(removal.join)
            met.append(begun.wait(30))
        self.useFixture(base.Interception(_LOOK_FOR_REQUEST, before=wait))
        self.in_the_middle(_CLAIM, begin)
        port = self.neutron.port_1['id']
        server = self.api.post_server({'server': self._build_server(
            networks=[{'port': port}], image_uuid=self.image)})
        self._wait_for_state_change(server, 'ACTIVE')
        self.assertEqual([True], met)
        built.set()
        self._wait_until_deleted(server)
        self.assertEqual(
            server['id'], self.neutron.show_port(port)['port']['device_id'])
        self.assertEqual(['create'], [
            action['action'] for action in
            self.admin_api.get_instance_actions(server['id'])])

    def test_a_reset_in_a_build_loses_the_attachment(self):
        self.in_the_middle(f'{_DRIVER}.spawn', self.reset)
        server = self.create('ERROR')
        self.assertIn("{'task_state': None}", self.fault(server))
        [volume] = self.api.get_server_volumes(server['id'])
        self.assertIsNotNone(volume['attachment_id'])
        self.assertEqual([], self.cinder.attachments(self.volume))

    def test_a_description_that_is_given_in_a_create_is_lost(self):
        self.in_the_middle(_SCHEDULER, self.describe)
        self.assertIsNone(self.create('ACTIVE')['description'])

    def test_a_death_before_a_host_has_it_leaves_the_accelerator(self):
        flavor = self.cyborg.add_device(self)
        self.in_the_middle(base.CAST, recovering.crash)
        server = self.api.post_server({'server': self._build_server(
            networks='none', flavor_id=flavor)})
        self._wait_for_assert(
            lambda: self.assertEqual(1, len(self.cyborg.of(server['id']))))
        self.api.delete_server(server['id'])
        self._wait_until_deleted(server)
        self.assertEqual(1, len(self.cyborg.of(server['id'])))
