# SPDX-License-Identifier: Apache-2.0

"""The event list and the fault of a buried server stay and grow."""

import threading
import urllib.parse

from nova import exception
from oslo_config import cfg
from oslo_db import exception as db_exc
from oslo_utils import fixture as utils_fixture

from tests import releases
from tests.functional import base
from tests.functional.support import databases
from tests.functional.moves import lost_commits
from tests.functional.support import races_base
from tests.functional.support import recover_base
from tests.functional.support import recovering

CONF = cfg.CONF

_MANAGER = 'nova.conductor.manager.ComputeTaskManager.'


class HistoryTestCase(base.FunctionalTestCase):

    def setUp(self):
        super().setUp()
        self.server = self.bury()

    def list(self, **query):
        """Return what the list of actions shows."""
        found = self.api.api_get(
            f'/servers/{self.server["id"]}/os-instance-actions?'
            + urllib.parse.urlencode(query)).body
        return found['instanceActions'], found.get('links', [])

    def history(self):
        """Return all details of all actions, oldest first."""
        return [self.api.get_instance_action_details(
            self.server['id'], action['request_id'])
            for action in reversed(self.list()[0])]

    def names(self, actions):
        return [action['action'] for action in actions]


class HistoryTest(HistoryTestCase):

    def test_the_failed_create_stays_as_it_was(self):
        before = self.history()
        [event] = before[0]['events']
        self.assertIn('NoValidHost', event['traceback'])
        self.assertIsNotNone(event['finish_time'])
        self.assertEqual(CONF.host, event['host'])
        self.rebuild(self.server)
        self.buried_again(self.server)
        self.assertEqual(before, self.history()[:1])
        self._start_compute('host1')
        self.rebuild(self.server)
        self.active(self.server)
        self.assertEqual(before, self.history()[:1])

    def test_each_attempt_is_one_rebuild_that_tells_how_it_went(self):
        for _ in range(2):
            self.rebuild(self.server)
            self.buried_again(self.server)
        failed, conductor = self.history(), CONF.host
        self._start_compute('host1')
        self.rebuild(self.server)
        self.active(self.server)
        found = self.history()
        self.assertEqual(failed, found[:3])
        self.assertEqual(['create', *['rebuild'] * 3], self.names(found))
        self.assertEqual(4, len({action['request_id'] for action in found}))
        times = [action['start_time'] for action in found]
        self.assertEqual(sorted(set(times)), times)
        for action in failed:
            [event] = action['events']
            self.assertEqual('Error', event['result'])
            self.assertIn('NoValidHost', event['traceback'])
            self.assertEqual(conductor, event['host'])
        [event] = found[3]['events']
        self.assertEqual(
            ('compute__do_build_and_run_instance', 'Success', 'host1'),
            (event['event'], event['result'], event['host']))

    def test_the_request_of_the_rebuild_is_the_one_of_its_action(self):
        self._start_compute('host1')
        asked = []
        self.useFixture(base.Interception(
            'nova.compute.api.API.rebuild',
            before=lambda _self, context, *args, **kwargs: asked.append(
                context.request_id)))
        self.rebuild(self.server)
        self.active(self.server)
        self.assertEqual(asked, [self.history()[-1]['request_id']])

    def test_the_owner_sees_neither_traceback_nor_host(self):
        self.api = self.api_fixture.api
        self.api.microversion = base.STOCK
        self.rebuild(self.server)
        self.buried_again(self.server)
        found = self.history()
        self.assertEqual(['create', 'rebuild'], self.names(found))
        for action in found:
            [event] = action['events']
            self.assertEqual('Error', event['result'])
            self.assertEqual(
                set(), {'traceback', 'host', 'details'} & set(event))

    def test_it_is_listed_by_time_of_change(self):
        [created] = self.list()[0]
        self._start_compute('host1')
        self.rebuild(self.server)
        self.active(self.server)
        [rebuilt, _] = self.list()[0]
        self.assertLess(created['updated_at'], rebuilt['updated_at'])
        self.assertLess(rebuilt['start_time'], rebuilt['updated_at'])
        since = f'{rebuilt["start_time"]}Z'
        self.assertEqual(
            ['rebuild'], self.names(self.list(**{'changes-since': since})[0]))
        self.assertEqual(
            ['create'], self.names(self.list(**{'changes-before': since})[0]))

    def test_it_is_listed_page_by_page(self):
        self.rebuild(self.server)
        self.buried_again(self.server)
        self._start_compute('host1')
        self.rebuild(self.server)
        self.active(self.server)
        found, query = [], {'limit': 1}
        while query:
            page, links = self.list(**query)
            found += page
            query = dict(urllib.parse.parse_qsl(urllib.parse.urlsplit(
                links[0]['href']).query)) if links else None
        self.assertEqual(['rebuild', 'rebuild', 'create'], self.names(found))
        self.assertEqual(3, len({action['request_id'] for action in found}))

    def test_within_one_second_the_newer_action_is_listed_first(self):
        # Many databases store seconds.
        self.useFixture(utils_fixture.TimeFixture())
        self.server = self.bury()
        self._start_compute('host1')
        self.rebuild(self.server)
        self.active(self.server)
        self.assertEqual(['rebuild', 'create'], self.names(self.list()[0]))


class NoSecondCreateTest(HistoryTestCase):
    """Looked at in the middle of a rebuild, it is a rebuild already."""

    def look_before(self, name):
        self.seen = []

        def look(*args, **kwargs):
            found = databases.dump()
            self.seen.append({
                cell: self.names(found[cell]['instance_actions'])
                for cell in ('cell0', 'cell1')})
        self.useFixture(base.Interception(name, before=look))

    def test_a_client_sees_one_create_and_the_rebuild(self):
        self._start_compute('host1')
        seen = []
        self.useFixture(base.Interception(
            recovering.END,
            after=lambda *args: seen.append(self.actions(self.server))))
        self.rebuild(self.server)
        self.active(self.server)
        self.assertEqual([[('create', ['Error']), ('rebuild', [])]], seen)

    def test_no_second_create_is_ever_in_cell0(self):
        self.look_before(_MANAGER + '_set_vm_state_and_notify')
        self.rebuild(self.server)
        self.buried_again(self.server)
        self.assertEqual(
            [{'cell0': ['create', 'rebuild'], 'cell1': []}], self.seen)


class InterruptedTest(recover_base.RecoverTestCase):
    """A failure is recorded as a whole and once, or not at all."""

    START = 'nova.db.main.api.action_event_start'
    FINISH = 'nova.db.main.api.action_event_finish'
    FIND = 'nova.db.main.api._action_get_by_request_id'
    FAILED = [('create', ['Error']), ('rebuild', ['Error'])]

    def fail_and(self, step, **hook):
        """Have a rebuild fail, and something happen when it is recorded."""
        self.useFixture(base.Interception(
            recovering.TAGS, before=recovering.fail))
        self.rebuild_until(step, **hook)

    def names(self):
        return [row['action']
                for row in databases.dump()['cell0']['instance_actions']]

    def test_a_conductor_that_dies_while_it_records_leaves_nothing(self):
        self.fail_and(self.START, before=recovering.crash)
        self.assertEqual(['create'], self.names())
        self.assert_recovered('on its way')
        self.assertEqual(self.FAILED, self.actions(self.server))

    def test_after_a_commit_whose_answer_is_lost_it_is_there_once(self):
        # At the end of the transaction in which the last event ends.
        self.fail_and(self.FINISH, after=lambda *args: self.useFixture(
            lost_commits.LostCommit('cell0')))
        self.buried_again(self.server)
        self.assertEqual(self.FAILED, self.actions(self.server))

    def test_after_a_deadlock_it_is_recorded_again_as_a_whole(self):
        def deadlock(context, *args):
            context.session.rollback()
            raise db_exc.DBDeadlock
        self.fail_and(self.FIND, before=deadlock)
        self.buried_again(self.server)
        self.assertEqual(self.FAILED, self.actions(self.server))


class LateActionTest(HistoryTestCase):
    """A request read the server in cell0, and a rebuild overtook it."""

    def setUp(self):
        super().setUp()
        self._start_compute('host1')
        self.reached, self.goes_on = threading.Event(), threading.Event()
        self.useFixture(base.Interception(
            'nova.compute.api.API.lock', before=self.overtake))
        self.useFixture(base.Interception(
            _MANAGER + '_create_block_device_mapping', before=self.hold))

    def hold(self, *args, **kwargs):
        """Hold the conductor when its action is in the new cell."""
        self.reached.set()
        self.goes_on.wait(30)

    def overtake(self, *args, **kwargs):
        self.rebuild(self.server)
        self.assertTrue(self.reached.wait(30))

    @releases.needs('own_connections')
    def test_its_action_and_its_result_are_in_the_new_cell(self):
        self.api.post_server_action(self.server['id'], {'lock': None})
        self.goes_on.set()
        self.assertTrue(self.active(self.server)['locked'])
        self.assertEqual(
            [('create', ['Error']), ('lock', ['Success']),
             ('rebuild', ['Success'])], sorted(self.actions(self.server)))


class FaultTest(HistoryTestCase):

    def test_the_last_fault_is_shown_while_it_is_buried_and_then_none(self):
        self.assertIn('No valid host', self.server['fault']['message'])

        def fail(*args, **kwargs):
            raise exception.SchedulerHostFilterNotFound(filter_name='late')
        self.useFixture(base.Interception(races_base.SCHEDULER, before=fail))
        self.rebuild(self.server)
        self.assertIn(
            'late', self.buried_again(self.server)['fault']['message'])
        self._start_compute('host1')
        self.rebuild(self.server)
        self.assertNotIn('fault', self.active(self.server))
