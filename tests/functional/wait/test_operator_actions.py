# SPDX-License-Identifier: Apache-2.0

"""What an operator decides by ``cell0-rebuild-manage wait``."""

import json

from nova import context as nova_context
from nova.db.api import models as api_models
from nova.db.main import models
from nova.objects import request_spec
from oslo_config import cfg
from oslo_utils import fixture as time_fixture
from oslo_utils import timeutils

from cell0_rebuild import cells
from cell0_rebuild import objects
from cell0_rebuild.wait.effects import notices
from cell0_rebuild.wait.effects import shown_status
from cell0_rebuild.wait import texts
from tests.functional import base
from tests.functional.support import databases
from tests.functional.support import races_base
from tests.functional.support import recovering
from tests.functional.wait import census_base
from tests.functional.wait import commands


def section(server):
    """Return what is kept of a server, as it is stored."""
    return objects.section(databases.spec_of(server['id']).blob)


class DecidingTestCase(census_base.WaitingTestCase):

    def setUp(self):
        super().setUp()
        self.server = self.bury(metadata=census_base.ASKED)

    def decide(self, command, *arguments):
        """Have a command done for the server."""
        code, said = commands.run(command, self.server['id'], *arguments)
        self.assertEqual(0, code, said)
        return said

    def assert_unchanged(self, words, server_id=None):
        """Check that nothing is changed, and what is said of it."""
        before = databases.dump()
        for command in (['set', '--priority', '1'], ['hold'], ['release'],
                        ['end']):
            code, said = commands.run(*command, server_id or self.server['id'])
            self.assertEqual(1, code)
            self.assertIn(words, said)
        self.assertEqual([], databases.differences(before, databases.dump()))

    def test_a_priority_is_set(self):
        self.assertIn('has the priority 5', self.decide(
            'set', '--priority', '5'))
        self.assertEqual(5, self.found(self.server).priority)

    def test_who_is_held_waits_until_it_is_released(self):
        self.decide('set', '--priority', '5')
        self.decide('hold', '--reason', 'its host is mended')
        self.assertTrue(self.found(self.server).held)
        self.assertEqual({self.server['id']: 'its host is mended'},
                         census_base.taken().held_for)
        self.decide('release')
        found = self.found(self.server)
        self.assertEqual((False, 5), (found.held, found.priority))
        self.assertEqual({}, census_base.taken().held_for)

    def test_who_is_ended_waits_no_longer_and_is_shown_as_error(self):
        self._show_build(self.server)
        self.decide('end')
        self.assert_who_waits([])
        self.assert_shown_once(self.server['id'], 'ERROR')

    def told(self):
        """Return what the owner reads of the waiting."""
        return [action['message'].partition(':')[0] for action
                in self.api.get_instance_actions(self.server['id'])
                if action['action'] == 'wait']

    def test_the_owner_reads_that_a_server_is_held_and_ended(self):
        self.decide('hold')
        self.assertEqual([], self.told())
        cctxt = cells.in_cell0(nova_context.get_admin_context())
        notices.tell(cctxt, self.server['id'], texts.NO_HOST_HAS_ROOM)
        for command, code in (('hold', 'held'), ('end', 'ended')):
            self.decide(command)
            self.assertEqual([code], self.told())

    def test_who_asks_what_has_changed_sees_the_end(self):
        self._show_build(self.server)
        began = timeutils.utcnow() + 2 * census_base.HOUR
        self.useFixture(time_fixture.TimeFixture(began))
        self.decide('end')
        [found] = self.api.get_servers(search_opts={
            'changes-since': f'{began:%Y-%m-%dT%H:%M:%SZ}'})
        self.assertEqual('ERROR', found['status'])

    def test_a_server_can_be_named_with_its_project(self):
        name, project = self.server['name'], self.server['tenant_id']
        code, said = commands.run('hold', name, '--project', project)
        self.assertEqual(
            (0, f'Server {self.server["id"]} is held.\n'), (code, said))
        self.bury(name=name)
        code, said = commands.run('release', name, '--project', project)
        self.assertEqual(2, code)
        self.assertIn(f'Give the UUID of one: {self.server["id"]}, ', said)

    def test_who_was_ended_waits_again_when_it_is_released(self):
        self.decide('end')
        self.decide('release')
        self.assert_who_waits([self.server])

    def test_all_who_wait_are_ended(self):
        other = self.bury()
        shown = self.bury()
        self._show_build(shown)
        self.addCleanup(cfg.CONF.reset)
        code, said = commands.run('end', '--all')
        self.assertEqual(0, code, said)
        self.assertEqual(
            {self.server['id'], shown['id']},
            {line.split()[1] for line in said.splitlines()})
        self.assert_who_waits([])
        self.assert_shown_once(shown['id'], 'ERROR')
        self.assertNotIn('waiting', section(other))
        self.assertEqual((0, ''), commands.run('end', '--all'))

    def test_one_that_cannot_be_ended_is_in_the_way_of_no_other(self):
        self.bury(metadata=census_base.ASKED)
        self.addCleanup(cfg.CONF.reset)
        self.useFixture(base.Interception(
            shown_status.show_error, before=recovering.lose_database))
        code, said = commands.run('end', '--all')
        self.assertEqual(1, code)
        self.assertEqual(
            1, said.count('waits no longer.'), said)
        self.assertEqual(1, said.count('Server ') - 1, said)

    def test_who_has_expired_is_ended_only_where_it_is_shown_as_build(self):
        shown = self.bury(metadata=census_base.ASKED)
        self._show_build(shown)
        for server in (self.server, shown):
            databases.update(
                'cell0', models.Instance, server['id'],
                created_at=timeutils.utcnow() - 3 * census_base.HOUR)
        self.addCleanup(cfg.CONF.reset)
        code, said = commands.run('end', '--all')
        self.assertEqual(
            (0, f'Server {shown["id"]} waits no longer.\n'), (code, said))
        self.assert_shown_once(shown['id'], 'ERROR')
        self.assertNotIn('waiting', section(self.server))

    def test_what_is_unknown_survives(self):
        self._store(version='1.7', colour='red', waiting={'pace': 3})
        self.decide('hold')
        found = section(self.server)
        self.assertEqual(
            ('1.7', 'red', 3),
            (found['version'], found['colour'], found['waiting']['pace']))

    def test_it_survives_a_rebuild_that_fails(self):
        self.decide('set', '--priority', '5')
        self.rebuild(self.server)
        self.buried_again(self.server)
        self.assertEqual(5, self.found(self.server).priority)

    def test_it_goes_with_a_rebuild_that_succeeds(self):
        self.decide('set', '--priority', '5')
        self._start_compute('host1')
        self.rebuild(self.server)
        self.active(self.server)
        self.assertIsNone(section(self.server))
        self.assert_unchanged('is not in cell0')

    def test_a_server_on_its_way_is_left_alone(self):
        self._start_compute('host1')
        held = self.useFixture(races_base.HeldMessage())
        self.rebuild(self.server)
        self.assert_unchanged('is on its way')
        held.deliver()
        self.active(self.server)

    def test_it_is_not_lost_to_a_rebuild_that_is_just_requested(self):
        self._start_compute('host1')
        self.useFixture(base.Interception(
            recovering.PROBE,
            before=lambda *args: self.decide('set', '--priority', '5')))
        self.assert_refused(409, self.server)
        self.assertEqual(5, self.found(self.server).priority)
        self.rebuild(self.server)
        self.active(self.server)

    def test_stock_nova_ignores_it(self):
        before = self._read_by_stock_nova()
        self.decide('hold')
        self.assertEqual(before, self._read_by_stock_nova())

    def test_who_was_buried_by_stock_nova_does_not_wait(self):
        databases.forget(self.server['id'])
        self.assert_unchanged('without cell0-rebuild')

    def test_what_is_damaged_is_refused(self):
        blob = databases.spec_of(self.server['id']).blob
        databases.update('api', api_models.RequestSpec, self.server['id'],
                         spec=blob[:-1])
        self.assert_unchanged('is damaged')

    def test_what_is_of_a_newer_version_is_left_alone(self):
        self._store(version='2.0')
        self.assert_unchanged('of version 2.0')

    def test_a_server_that_is_not_there_is_refused(self):
        self.assert_unchanged(
            'There is no server', '7d2f0d35-6d16-4b46-a3dd-5e5ff1e0a1ab')
        self.api.delete_server(self.server['id'])
        self.assert_unchanged('There is no server')

    def _store(self, **entries):
        blob = json.loads(databases.spec_of(self.server['id']).blob)
        blob[objects.SECTION].update(entries)
        databases.update('api', api_models.RequestSpec, self.server['id'],
                         spec=json.dumps(blob))

    def _read_by_stock_nova(self):
        context = nova_context.get_admin_context()
        return request_spec.RequestSpec._from_db_object(
            context, request_spec.RequestSpec(),
            request_spec.RequestSpec._get_by_instance_uuid_from_db(
                context, self.server['id'])).obj_to_primitive()

    def _show_build(self, server):
        databases.update(
            'cell0', models.Instance, server['id'], vm_state='building')
