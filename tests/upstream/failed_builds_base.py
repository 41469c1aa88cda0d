# SPDX-License-Identifier: Apache-2.0

"""A build that fails after the scheduler, held at a place of Nova's code."""

import threading

import fixtures
from nova import context as nova_context
from nova.db.main import models
from nova import objects
import sqlalchemy as sa

from cell0_rebuild import cells
from tests.functional import base
from tests.functional.support import cinder
from tests.functional.support import cyborg
from tests.functional.support import databases

BUILD = 'compute__do_build_and_run_instance'
ALLOCATIONS = ('nova.scheduler.client.report.SchedulerReportClient.'
               'delete_allocation_for_instance')
NETWORKS = 'nova.network.neutron.API.deallocate_for_instance'
SPAWN = 'nova.virt.fake.FakeDriver.spawn'
# Its volumes: one that stays, and one with delete_on_termination.
KEPT = 'd5a5c7a4-8e4a-4d0a-9b1f-0c0f2b1f5d01'
DOOMED = 'd5a5c7a4-8e4a-4d0a-9b1f-0c0f2b1f5d02'


class Hold:
    """Keeps the first call that comes here until it is released."""

    def __init__(self):
        self._reached = threading.Event()
        self._released = threading.Event()

    def __call__(self, *args, **kwargs):
        """Wait, as a function of Nova's would."""
        self._reached.set()
        if not self._released.wait(120):
            raise AssertionError('nobody has released it')

    def release(self):
        """Let it go on."""
        self._released.set()

    def reached(self):
        """Wait until it is there."""
        if not self._reached.wait(60):
            raise AssertionError('nothing came here')


class FailedBuildTestCase(base.FunctionalTestCase):
    """A server with everything that a build touches."""

    # The suite enables the package around each test, or not.
    enabled = False
    hosts = ('host1',)

    def setUp(self):
        super().setUp()
        self.cinder = self.useFixture(cinder.Cinder(self))
        self.cyborg = self.useFixture(cyborg.Cyborg())
        for host in self.hosts:
            self._start_compute(host)

    def asked(self, **body):
        """Return the body of a create request: ports, volumes, a tag."""
        image = self.glance.auto_disk_config_enabled_image['id']
        server = self._build_server(image_uuid=image, networks=[
            {'port': self.neutron.port_1['id']},
            {'uuid': self.neutron.network_1['id']}])
        server['tags'] = ['mine']
        server['block_device_mapping_v2'] = [
            {'boot_index': 0, 'source_type': 'image', 'uuid': image,
             'destination_type': 'local', 'delete_on_termination': True},
            *({'boot_index': -1, 'source_type': 'volume', 'uuid': volume,
               'destination_type': 'volume',
               'delete_on_termination': volume == DOOMED}
              for volume in (KEPT, DOOMED))]
        return {**server, **body}

    def create(self, **body):
        """Ask for a server."""
        return self.api.post_server({'server': self.asked(**body)})

    def create_batch(self):
        """Ask for two servers that need no port or volume of their own.

        :returns: the two, in the order in which Nova works on them.
        """
        self.api.post_server({'server': dict(
            self._build_server(networks='none'), name='batch', min_count=2)})
        batch = sorted(self.api.get_servers(), key=lambda one: one['name'])
        self.assertEqual(2, len(batch))
        return batch

    def held(self, name, when='before'):
        """Hold the next call of a method of Nova's.

        :param when: or ``after``.
        """
        hold = Hold()
        self.addCleanup(hold.release)
        self.useFixture(base.Interception(name, **{when: hold}))
        return hold

    def fail(self, name, error, calls=None):
        """Have a method of Nova's fail, always or at some calls.

        :param calls: which, counted from 1.
        """
        module, owner, method = name.rsplit('.', 2)
        original = getattr(getattr(
            __import__(module, fromlist=[owner]), owner), method)
        count = []

        def failing(*args, **kwargs):
            count.append(1)
            if calls is None or len(count) in calls:
                raise error
            return original(*args, **kwargs)
        self.useFixture(fixtures.MonkeyPatch(name, failing))

    def shown(self, server, **expected):
        """Check what is there of a server, or wait for it.

        :param expected: of what :meth:`state` returns.
        """
        def compare():
            state = self.state(server)
            self.assertEqual(
                expected, {name: state[name] for name in expected})
        self._wait_for_assert(compare, max_retries=100)

    def state(self, server):
        """Return what is there of a server, wherever it is kept."""
        server_id = server['id']
        row = self.row(server)
        claims = self._get_allocations_by_server_uuid(server_id)
        return {
            'vm': (row.vm_state, row.task_state),
            'host': row.host,
            'cell': databases.cell_of(server_id),
            'build_request': databases.has_build_request(server_id),
            'spec': databases.rows_with(
                server_id, {'request_specs': self._specs()}) != [],
            'claims': sorted(
                host for host in self.hosts if
                self._get_provider_uuid_by_host(host) in claims),
            'ports': sum(port['device_id'] == server_id for port in
                         list(self.neutron._ports.values())),
            'attached': [len(self.cinder.attachments(volume))
                         for volume in (KEPT, DOOMED)],
            'deleted': sorted(self.cinder.deleted),
            'mappings': sorted(
                mapping.volume_id for mapping in
                objects.BlockDeviceMappingList.get_by_instance_uuid(
                    self.in_cell(), server_id) if mapping.volume_id),
            'tags': [tag.tag for tag in objects.TagList.get_by_resource_id(
                self.in_cell(), server_id)],
            'events': self.events(server),
            'guests': self.guests(server),
            'network_allocated': row.system_metadata.get(
                'network_allocated'),
        }

    def in_cell(self):
        """Return a context with the rights of Nova, for the real cell."""
        return cells.targeted(
            nova_context.get_admin_context(), self.cell_mappings['cell1'])

    def row(self, server):
        """Return the server as it is in the real cell."""
        return objects.Instance.get_by_uuid(
            self.in_cell(), server['id'], expected_attrs=['system_metadata'])

    def _specs(self):
        return databases.dump()['api']['request_specs']

    def events(self, server):
        """Return the events of the real cell: name, result and host."""
        events, actions = models.InstanceActionEvent, models.InstanceAction
        with databases.engines()['cell1'].connect() as connection:
            return [tuple(found) for found in connection.execute(
                sa.select(events.event, events.result, events.host)
                .join(actions, actions.id == events.action_id)
                .where(actions.instance_uuid == server['id'])
                .order_by(events.id))]

    def guests(self, server):
        """Return the hosts whose hypervisor runs a guest of the server."""
        return sorted(
            host for host, compute in self.computes.items()
            if server['id'] in compute.manager.driver.list_instance_uuids())

    def error(self, server):
        """Wait until the owner sees ERROR."""
        self._wait_for_assert(lambda: self.assertEqual(
            'ERROR', self.api.get_server(server['id'])['status']))
        return server

    def reset(self, server):
        """Reset the state to ERROR, as an administrator."""
        self.api.post_server_action(
            server['id'], {'os-resetState': {'state': 'error'}})

    def lose_quota(self):
        """Have the quota go when nova-api has checked the next create."""
        self.useFixture(base.Interception(
            'nova.scheduler.client.query.SchedulerQueryClient.'
            'select_destinations',
            before=lambda *args, **kwargs: self.flags(
                instances=0, group='quota')))
