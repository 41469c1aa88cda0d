# SPDX-License-Identifier: Apache-2.0

"""The package is removed, with servers buried or in the middle of a rebuild.

What is left in the databases is read by a Nova that knows nothing of it.
"""

import base64

import ddt
from nova.tests.functional.api import client as api_client

from tests.functional.support import archiving
from tests.functional import base
from tests.functional.support import databases
from tests.functional.support import recover_base
from tests.functional.support import recovering
from tests.functional.support.recovering import crash
from tests.functional.support import removing

API = ['instance_mappings', 'request_specs']
FILE = base64.b64encode(b'hello').decode()


class DowngradeTestCase(removing.RemovingMixin, recover_base.RecoverTestCase):

    options = {'personality_files': 'persist'}

    def leave(self, state):
        """Bring the server into a state and kill whoever is at work."""
        getattr(self, f'_leave_{state}')()

    def _leave_buried(self):
        service = self.computes['host1'].service_ref.uuid
        self.api.put_service(service, {'status': 'disabled'})
        self.api.delete_server(self.server['id'])
        with self.microversion_is('2.36'):
            server = self.api.post_server({'server': dict(
                self._build_server(networks=[
                    {'uuid': self.neutron.network_1['id']}]),
                personality=[{'path': '/etc/hello', 'contents': FILE}])})
        self.server = self._wait_for_state_change(server, 'ERROR')
        self.api.put_service(service, {'status': 'enabled'})

    def _leave_not_hidden(self):
        self.useFixture(base.Interception(recovering.HIDE, before=crash))
        self.assertRaises(recovering.Crash, self.rebuild, self.server)

    def _leave_not_taken(self):
        self.rebuild(self.server)

    def _leave_taken(self):
        self.rebuild_until(recovering.SCHEDULER, before=crash)

    def _leave_claimed(self):
        self.rebuild_until(recovering.SCHEDULER, after=crash)

    def _leave_created(self):
        self.rebuild_until(recovering.TAGS, before=crash)

    def _leave_not_handed_over(self):
        self.rebuild_until(recovering.HAND_OVER, before=crash)

    def _leave_handed_over(self):
        self.rebuild_until(recovering.CAST, before=crash)

    def _leave_built(self):
        self.rebuild_until(recovering.FINISH, before=crash)
        self._wait_for_state_change(self.server, 'ACTIVE')

    def _leave_not_forgotten(self):
        self.rebuild_until(recovering.FORGET, before=crash)
        self._wait_for_state_change(self.server, 'ACTIVE')

    def _leave_rebuilt(self):
        self.rebuild(self.server)
        self.late.deliver()
        self._wait_for_state_change(self.server, 'ACTIVE')

    def _leave_shown_again(self):
        self.useFixture(base.Interception(
            recovering.TAGS, before=recovering.fail))
        self.rebuild_until(recovering.SHOW, after=crash)

    def _leave_buried_again(self):
        self.useFixture(base.Interception(
            recovering.TAGS, before=recovering.fail))
        self.rebuild_until(recovering.REMOVE, before=crash)

    def _leave_taken_back(self):
        self.useFixture(base.Interception(
            recovering.CAST, before=recovering.fail))
        self.rebuild_until(recovering.REMOVE, before=crash)

    def _leave_returning(self):
        self.useFixture(base.Interception(
            recovering.CAST, before=recovering.fail))
        self.rebuild_until(recovering.REMOVE, after=crash)

    def status(self):
        """Return what GET shows."""
        try:
            return self.api.get_server(self.server['id'])['status']
        except api_client.OpenStackApiException as error:
            return error.response.status_code

    def listed(self):
        """Return how often the list has the server."""
        return [server['id'] for server in self.api.get_servers()].count(
            self.server['id'])

    def delete(self):
        """Delete the server and return the code of the answer."""
        code = self.api.api_request(
            f'servers/{self.server["id"]}', method='DELETE').status_code
        if code == 204:
            self._wait_until_deleted(self.server)
        return code

    def left(self):
        """Return where the server is; deleted rows do not count."""
        found = databases.dump()
        uuid = self.server['id']
        left = databases.rows_with(uuid, found['api'])
        for cell in ('cell0', 'cell1'):
            left += [f'{cell} hidden' if row['hidden'] else cell
                     for row in found[cell]['instances']
                     if row['uuid'] == uuid and not row['deleted']]
        return sorted(left)


# What a Nova without the package makes of a server in each state: what GET
# shows, how often the list has it when it is deleted, and what is left then
# that nothing archives.
STATES = (
    ('buried', 'ERROR', 0, []),
    ('not_hidden', 'BUILD', 1, ['cell0', *API]),
    ('not_taken', 'BUILD', 0, ['cell0 hidden', *API]),
    ('taken', 'BUILD', 0, ['cell0 hidden', *API]),
    ('claimed', 'BUILD', 0, ['cell0 hidden', *API]),
    ('created', 'BUILD', 0, ['cell0 hidden']),
    ('not_handed_over', 'BUILD', 0, ['cell0 hidden']),
    ('handed_over', 'BUILD', 0, ['cell0 hidden']),
    ('built', 'ACTIVE', 0, ['cell0 hidden']),
    ('not_forgotten', 'ACTIVE', 0, []),
    ('rebuilt', 'ACTIVE', 0, []),
    ('shown_again', 'BUILD', 1, ['cell0']),
    ('buried_again', 'ERROR', 0, ['cell1 hidden']),
    ('taken_back', 'ERROR', 1, ['cell1']),
    ('returning', 'ERROR', 0, []))


@ddt.ddt
class StockNovaTest(DowngradeTestCase):

    @ddt.data(*STATES)
    @ddt.unpack
    def test_stock_nova_shows_and_deletes_and_archives_a_server(
            self, state, status, listed, left):
        self.leave(state)
        self.remove_package()
        self.assertEqual(status, self.status())
        self.assertEqual(1, self.listed())
        before = self.left()
        archiving.archive(self)
        self.assertEqual(before, self.left())
        self.assertEqual(status, self.status())
        self.assertEqual(204, self.delete())
        self.assertEqual(404, self.status())
        self.assertEqual(listed, self.listed())
        archiving.archive(self)
        self.assertEqual(sorted(left), self.left())
        self.assertEqual(
            {}, self._get_allocations_by_server_uuid(self.server['id']))

    def test_the_files_of_a_deleted_server_go_with_its_request_spec(self):
        self.leave('buried')
        self.remove_package()
        self.assertIn(FILE, str(databases.dump()))
        self.delete()
        archiving.archive(self)
        self.assertNotIn(FILE, str(databases.dump()))


@ddt.ddt
class ReinstalledTest(DowngradeTestCase):

    @ddt.data('not_hidden', 'not_taken', 'taken')
    def test_installed_again_it_recovers_a_server(self, state):
        self.leave(state)
        self.remove_package()
        archiving.archive(self)
        self.install_package()
        code, found = recovering.recover()
        self.assertEqual((0, [self.server['id']]), (code, list(found)))
        self.assert_buried()
        self.assert_can_be_rebuilt()

    @ddt.data('built', 'not_forgotten')
    def test_installed_again_it_finishes_a_server(self, state):
        self.leave(state)
        self.remove_package()
        self.install_package()
        code, found = recovering.recover()
        self.assertEqual((0, 'built'), (code, found[
            self.server['id']]['state']))
        self.assert_shown_once(self.server['id'], 'ACTIVE')
        self.assertEqual(sorted(['cell1', *API]), self.left())
        self.assertIsNone(databases.spec_of(self.server['id']).retained)

    def test_installed_again_it_rebuilds_with_networks_and_files(self):
        self.leave('buried')
        self.remove_package()
        self.install_package()
        self.assertIn(FILE, str(databases.dump()))
        self.late.let_through()
        self.rebuild(self.server)
        server = self.active(self.server)
        self.assertEqual(['private'], list(server['addresses']))
        self.assertNotIn(FILE, str(databases.dump()))
