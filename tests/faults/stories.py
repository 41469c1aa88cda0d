# SPDX-License-Identifier: Apache-2.0

"""A deployment in which servers are buried, rebuilt and broken in turn."""

import json

from nova.db.main import api as main_db_api
from nova.tests import fixtures as nova_fixtures
from nova.tests.functional.api import client as api_client
from oslo_utils.fixture import uuidsentinel

from tests.faults import boundaries
from tests.faults import remains
from tests.functional import base
from tests.functional.support import cyborg
from tests.functional.support import databases
from tests.functional.support import reimage_base

PORT = nova_fixtures.NeutronFixture.port_1['id']
VOLUME = uuidsentinel.data_volume
TAGS = ['red']
METADATA = {'colour': 'red'}

# What is left of a server that is deleted, and shown in lists.
LISTED = 'it is listed'

CAPACITY, NO_CAPACITY = 'capacity', 'no capacity'
# There is capacity, and Cinder writes another image to the root volume.
REIMAGE = 're-image'
# There is capacity, and the flavor asks for an accelerator.
ACCELERATOR = 'accelerator'


class Problem(Exception):
    """Something is not as it should be."""


class Lost(Problem):
    """The server is not there, or not all of it, or cannot be deleted."""


class Deployment(base.FunctionalTestCase):
    """nova-api, conductor, scheduler and a compute, used for many runs.

    :ivar deleted_volumes: with the server that was buried last.
    :ivar former_image: on the root volume of a server that was buried just
        now.
    """

    # A dead conductor never answers; nova-api is not to wait long for it.
    options = {'answer_timeout': 4}

    def setUp(self):
        super().setUp()
        # Servers that were lost stay.
        self.flags(instances=-1, cores=-1, ram=-1, group='quota')
        self.stub_out('cell0_rebuild.conductor.reimage._PAUSE', 0.1)
        self.stub_out('cell0_rebuild.allocations._PAUSE', 0.1)
        self.cinder = self.useFixture(reimage_base.WritingCinder(self))
        self.former_image = self.cinder.image
        self.deleted_volumes = set()
        self.stub_out('nova.volume.cinder.API.delete', self._delete_volume)
        self.cyborg = self.useFixture(cyborg.Cyborg())
        self._service = self._start_compute('host1').service_ref.uuid
        self._device_flavor = self.cyborg.add_device(self)
        self.crossings = self.useFixture(boundaries.Crossings(self))
        self._usual = self._usual_remains()

    def _delete_volume(self, _api, _context, volume_id):
        self.deleted_volumes.add(volume_id)

    def have_capacity(self, wanted):
        """Let the scheduler find the compute, or not."""
        self.admin_api.put_service(
            self._service, {'status': 'enabled' if wanted else 'disabled'})

    def bury_one(self, story):
        """Bury a server with a port, a volume, a tag and metadata."""
        self.have_capacity(False)
        self.deleted_volumes.clear()
        self.cinder.begin_anew()
        if story == REIMAGE:
            server = self.bury(**self._body_on_volume())
            wanted = {'volume': reimage_base.VOLUME,
                      'request': {'imageRef': self.glance.image2['id']}}
        elif story == ACCELERATOR:
            server = self.bury(**self._body(), flavorRef=self._device_flavor)
            wanted = {'accelerators': 1}
        else:
            server = self.bury(**self._body())
            wanted = {}
        self.have_capacity(story != NO_CAPACITY)
        return {**server, 'volume': VOLUME, 'request': {}, 'accelerators': 0,
                **wanted}

    def _body_on_volume(self):
        return {
            'networks': [{'port': PORT}], 'tags': TAGS, 'metadata': METADATA,
            'imageRef': '', 'block_device_mapping_v2': [
                {'boot_index': 0, 'source_type': 'volume',
                 'uuid': reimage_base.VOLUME, 'destination_type': 'volume',
                 'delete_on_termination': True}]}

    def _body(self):
        image = self.glance.image1['id']
        return {
            'networks': [{'port': PORT}], 'tags': TAGS, 'metadata': METADATA,
            'imageRef': image, 'block_device_mapping_v2': [
                {'boot_index': 0, 'source_type': 'image', 'uuid': image,
                 'destination_type': 'local', 'delete_on_termination': True},
                {'boot_index': -1, 'source_type': 'volume', 'uuid': VOLUME,
                 'destination_type': 'volume',
                 'delete_on_termination': True}]}

    def run_rebuild(self, server, fault=None):
        """Rebuild under a fault; return the run and what nova-api said."""
        with self.crossings.watching(fault) as run:
            try:
                with self.microversion_is(base.ADDED):
                    answer = self.api.api_request(
                        f'/servers/{server["id"]}/action', method='POST',
                        body=json.dumps({'rebuild': server['request']}))
            except boundaries.Killed:
                answer = None
        self._settle(server, run)
        return run, answer

    def _settle(self, server, run):
        """Wait for whatever goes on without the two processes."""
        self._reset_fixture()
        if any(boundary.what == 'build_and_run_instance'
               for boundary in run.conductor.done):
            # Unless the conductor was told that it had failed.
            self._eventually(lambda: self.assertNotEqual(
                'BUILD', self.api.get_server(server['id'])['status']),
                'a compute has it, but', max_retries=200)

    def _reset_fixture(self):
        # A process that dies cannot put this right, and it is the fixture's:
        # the database of those who name none.
        fixture = main_db_api.get_context_manager.__self__
        fixture._last_ctxt_mgr = fixture._default_ctxt_mgr

    def wait_for(self, server, status):
        """Wait for a status."""
        try:
            return self._wait_for_state_change(server, status)
        except AssertionError as error:
            shown = self.api.get_server(server['id'])['status']
            raise Lost(f'it does not become {status}, it is {shown}'
                       ) from error

    def check_shown(self, server):
        """Check that its owner sees it exactly once; return its status."""
        response = self.api.api_request(f'/servers/{server["id"]}')
        if response.status_code != 200:
            raise Lost(f'GET answers {response.status_code}')
        status = response.json()['server']['status']
        listed = [shown['status'] for shown in self.api.get_servers()
                  if shown['id'] == server['id']]
        if listed != [status]:
            raise Lost(f'GET shows {status}, the list {listed}')
        if status not in ('BUILD', 'ERROR', 'ACTIVE'):
            raise Lost(f'its status is {status}')
        return status

    def check_active(self, server):
        """Check that it is ACTIVE with all that it was created with."""
        shown = self.wait_for(server, 'ACTIVE')
        found = {
            'tags': shown['tags'], 'metadata': shown['metadata'],
            'ports': [port['id'] for port in self._ports_of(server)],
            'addresses': len(shown['addresses']),
            'volumes': list(
                self.cinder.volume_ids_for_instance(server['id'])),
            'attached': [volume['id'] for volume in shown[
                'os-extended-volumes:volumes_attached']],
            'first action': self.actions(server)[0][0],
            'claims': len(self._get_allocations_by_server_uuid(server['id'])),
            'accelerators': len(self.cyborg.of(server['id'])),
            'on the root volume': self.cinder.content}
        expected = {
            'tags': TAGS, 'metadata': METADATA, 'ports': [PORT],
            'addresses': 1, 'volumes': [server['volume']],
            'attached': [server['volume']], 'first action': 'create',
            'claims': 1 + server['accelerators'],
            'accelerators': server['accelerators'],
            'on the root volume': server['request'].get(
                'imageRef', self.former_image)}
        wrong = {name: value for name, value in found.items()
                 if value != expected[name]}
        if wrong:
            raise Lost(f'ACTIVE with {wrong}')

    def check_comes_back(self, server):
        """Rebuild it, and check that it is ACTIVE with all that it had.

        It is one that failed when it had a host, without volumes.
        """
        try:
            self.rebuild(server)
        except api_client.OpenStackApiException as error:
            raise Problem(f'a rebuild is refused: {error}') from None
        self.wait_for(server, 'ACTIVE')
        found = (len(self._get_allocations_by_server_uuid(server['id'])),
                 len(self.cyborg.of(server['id'])),
                 [port['id'] for port in self._ports_of(server)],
                 self.api.get_server(server['id'])['tags'])
        wanted = server['accelerators']
        if found != (1 + wanted, wanted, [PORT], TAGS):
            raise Lost(f'ACTIVE with {found}')
        self.check_complete(server)

    def check_complete(self, server, tolerated=()):
        """Check that nothing is left of the way that it came.

        :param tolerated: tables of cell0 that may have something of it.
        """
        def complete():
            found = databases.dump()
            self.assertEqual(set(), set(databases.rows_with(
                server['id'], found['cell0'])).difference(tolerated))
            self.assertNotIn('build_requests', databases.rows_with(
                server['id'], found['api']))
            self.assertIsNone(databases.spec_of(server['id']).retained)
        self._eventually(complete, 'ACTIVE, but')

    def check_updated(self, server, owner):
        """Check that nothing is lost of what its owner has changed."""
        found = owner.shown(server)
        if found != owner.accepted:
            raise Problem(f'of {owner.accepted}, accepted with 200, is left '
                          f'{found}')

    def delete(self, server):
        """Delete it as its owner does."""
        response = self.api.api_request(
            f'/servers/{server["id"]}', method='DELETE')
        if response.status_code != 204:
            raise Lost(f'DELETE answers {response.status_code}')
        try:
            self._wait_until_deleted(server)
        except AssertionError as error:
            raise Lost('it is there after a DELETE') from error

    def check_gone(self, server, tolerated=lambda name: False):
        """Check that no more is left of it than of any deleted server.

        A compute that has lost its database gives up late.

        :returns: what is left and tolerated.
        """
        self._eventually(
            lambda: self.assertEqual(set(), {
                name for name in self.left_of(server)
                if not tolerated(name)}),
            'deleted, but left is', max_retries=200)
        return self.left_of(server)

    def left_of(self, server):
        """Return what is left of a deleted server that is not usual."""
        uuid = server['id']
        found = remains.of(uuid) - self._usual
        found |= {f'port {port["id"]}' for port in self._ports_of(server)}
        found |= {f'attachment of volume {volume}' for volume in
                  self.cinder.volume_ids_for_instance(uuid)}
        if self._get_allocations_by_server_uuid(uuid):
            found.add('allocations')
        if self.cyborg.of(uuid):
            found.add(remains.ACCELERATORS)
        if uuid in {shown['id'] for shown in self.api.get_servers()}:
            found.add(LISTED)
        return found

    def forget(self, server):
        """Free what the next run needs, whatever has become of a server."""
        for port in self._ports_of(server):
            port.update({'device_id': '', 'binding:host_id': None})
        for attachments in self.cinder.volume_to_attachment.values():
            for attachment in list(attachments.values()):
                if attachment['instance_uuid'] == server['id']:
                    del attachments[attachment['id']]
        self.cyborg.fake_delete_arqs_for_instance(server['id'])
        self.placement.delete(f'/allocations/{server["id"]}')
        self.api.api_request(f'/servers/{server["id"]}', method='DELETE')

    def _usual_remains(self):
        """Return what Nova leaves of a buried and of an active server."""
        found = set()
        for story in (NO_CAPACITY, CAPACITY):
            if story == CAPACITY:
                self.have_capacity(True)
                server = self._create_server(networks=[{'port': PORT}])
            else:
                server = self.bury_one(story)
            self.delete(server)
            found |= remains.of(server['id'])
        return found

    def _ports_of(self, server):
        return [port for port in self.neutron._ports.values()
                if port.get('device_id') == server['id']]

    def _eventually(self, check, problem, max_retries=20):
        try:
            self._wait_for_assert(check, max_retries, sleep=0.1)
        except AssertionError as error:
            raise Problem(f'{problem} {error}') from error
