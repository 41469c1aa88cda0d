# SPDX-License-Identifier: Apache-2.0

"""Owners see in the event list of a server why it waits."""

from nova import context as nova_context
from nova.db.main import models
from nova import objects
from oslo_utils.fixture import uuidsentinel

from cell0_rebuild import cells
from cell0_rebuild.wait.effects import notices
from cell0_rebuild.wait import texts
from cell0_rebuild.wait import values
from tests.functional import base
from tests.functional.support import counting
from tests.functional.support import databases

CAPACITY = texts.NO_HOST_HAS_ROOM
BLOCKED = values.Reason(values.Code.BLOCKED, 'It is locked.')


def a_service(**how):
    """Return what a service that has just started tells with."""
    context = nova_context.get_admin_context()
    return notices.Notices(cells.in_cell0(context), **how)


class NoticesTestCase(base.FunctionalTestCase):

    def setUp(self):
        super().setUp()
        self.api = self.api_fixture.api
        self.server = self.bury(microversion=base.STOCK)
        self.uuid = self.server['id']
        self.notices = a_service()

    def told(self):
        """Return the messages that the owner sees."""
        return [action['message'] for action in
                self.api.get_instance_actions(self.uuid)
                if action['action'] == 'wait']

    def test_the_owner_sees_the_reason(self):
        self.notices.publish({self.uuid: CAPACITY})
        self.assertEqual(
            ['capacity: No host has room for the server.'], self.told())

    def test_the_action_is_the_owners(self):
        self.notices.publish({self.uuid: CAPACITY})
        [action] = [action for action in
                    self.api.get_instance_actions(self.uuid)
                    if action['action'] == 'wait']
        self.assertEqual(
            (self.server['user_id'], self.server['tenant_id']),
            (action['user_id'], action['project_id']))
        self.assertTrue(action['request_id'].startswith('req-'))

    def test_who_asks_what_is_new_sees_the_action(self):
        self.notices.publish({self.uuid: CAPACITY})
        self.api.microversion = base.STOCK
        [new] = [action for action in self.api.api_get(
            f'/servers/{self.uuid}/os-instance-actions'
            f'?changes-since={self.server["created"]}',
        ).body['instanceActions'] if action['action'] == 'wait']
        self.assertIsNotNone(new['updated_at'])

    def test_a_new_code_is_told_when_it_was_found_twice(self):
        self.notices.publish({self.uuid: CAPACITY})
        self.notices.publish({self.uuid: BLOCKED})
        self.assertEqual(1, len(self.told()))
        self.assertIn('capacity', self.told()[0])
        self.notices.publish({self.uuid: BLOCKED})
        self.assertEqual(['blocked: It is locked.'], self.told())

    def test_who_sweeps_once_tells_a_new_code_at_once(self):
        self.notices.publish({self.uuid: CAPACITY})
        self.assertEqual(
            1, a_service(at_once=True).publish({self.uuid: BLOCKED}))
        self.assertEqual(['blocked: It is locked.'], self.told())
        self.assertEqual(
            0, a_service(at_once=True).publish({self.uuid: BLOCKED}))

    def test_another_text_of_the_same_code_is_not_written(self):
        self.notices.publish({self.uuid: BLOCKED})
        other = values.Reason(values.Code.BLOCKED, 'Something else.')
        self.assertEqual(
            0, self.notices.publish({self.uuid: other})
            + self.notices.publish({self.uuid: other}))
        self.assertEqual(['blocked: It is locked.'], self.told())

    def test_nothing_is_asked_or_written_while_nothing_changes(self):
        self.notices.publish({self.uuid: CAPACITY})
        counts = self.useFixture(counting.CountingFixture())
        with counts.step('the same') as costs:
            self.assertEqual(0, self.notices.publish({self.uuid: CAPACITY}))
        self.assertEqual({}, costs)

    def test_a_service_that_starts_knows_what_was_told(self):
        self.notices.publish({self.uuid: CAPACITY})
        self.assertEqual(0, a_service().publish({self.uuid: CAPACITY}))
        self.assertEqual(1, len(self.told()))

    def test_what_a_service_told_that_has_ended_is_told_no_longer(self):
        seconds = iter(range(0, 100_000, 100))
        stays = a_service(clock=lambda: next(seconds))
        stays.publish({self.uuid: CAPACITY})
        ends = a_service()
        for _ in range(2):
            ends.publish({self.uuid: BLOCKED})
        self.assertEqual(['blocked: It is locked.'], self.told())
        for _ in range(5):
            stays.publish({self.uuid: CAPACITY})
        self.assertIn('capacity', self.told()[0])

    def test_two_services_write_one_action(self):
        self.useFixture(base.Interception(
            notices.Notices._write,
            before=lambda *args: a_service().publish({self.uuid: CAPACITY})))
        self.notices.publish({self.uuid: CAPACITY})
        self.assertEqual(1, len(self.told()))

    def test_what_is_too_much_for_one_sweep_is_told_in_the_next(self):
        self.stub_out('cell0_rebuild.wait.effects.notices._MOST', 2)
        other = [self.bury(microversion=base.STOCK)['id'] for _ in range(3)]
        gone = self.bury(microversion=base.STOCK)
        self._delete_server(gone)
        found = dict.fromkeys([gone['id'], self.uuid, *other], CAPACITY)
        self.assertEqual(
            [2, 2, 0], [self.notices.publish(found) for _ in range(3)])
        self.assertEqual(1, len(self.told()))

    def test_who_has_another_reason_for_longest_is_told_first(self):
        first, second, last = servers = [self.uuid, *(
            self.bury(microversion=base.STOCK)['id'] for _ in range(2))]
        self.notices.publish(dict.fromkeys(servers, CAPACITY))
        self.stub_out('cell0_rebuild.wait.effects.notices._MOST', 1)
        two = (BLOCKED, BLOCKED, CAPACITY, CAPACITY)
        for number in range(8):
            # One of the others is to be told in each sweep.
            self.notices.publish({
                first: two[number % 4], second: two[(number - 1) % 4],
                last: BLOCKED})
        self.assertIs(BLOCKED.code, self.notices.published(last))

    def test_an_owner_of_many_keeps_nobody_else_from_being_told(self):
        many = [self.uuid, *(
            self.bury(microversion=base.STOCK)['id'] for _ in range(3))]
        other = self.bury(microversion=base.STOCK)['id']
        self.stub_out('cell0_rebuild.wait.effects.notices._MOST', 2)
        for uuids in (many, [*many, other]):
            self.notices.publish(
                dict.fromkeys(uuids, CAPACITY), {other: 'other'}.get)
        self.assertIs(CAPACITY.code, self.notices.published(other))

    def test_what_an_operator_ends_meanwhile_stays_told(self):
        cctxt = cells.in_cell0(nova_context.get_admin_context())
        self.notices.publish({self.uuid: CAPACITY})
        self.notices.publish({self.uuid: BLOCKED})
        notices.tell(cctxt, self.uuid, texts.ENDED)
        self.assertEqual(0, self.notices.publish({self.uuid: BLOCKED}))
        self.assertEqual([texts.ENDED.message()], self.told())
        for _ in range(2):
            self.notices.publish({self.uuid: BLOCKED})
        self.assertEqual([BLOCKED.message()], self.told())

    def test_two_messages_of_two_nodes_are_both_replaced(self):
        self.notices.publish({self.uuid: CAPACITY})
        cctxt = cells.in_cell0(nova_context.get_admin_context())
        objects.InstanceAction(
            cctxt, action='wait', instance_uuid=self.uuid,
            request_id='req-other', message=texts.HELD.message()).create()
        other = a_service()
        for _ in range(2):
            other.publish({self.uuid: BLOCKED})
        self.assertEqual([BLOCKED.message()] * 2, self.told())

    def test_of_what_is_too_long_the_end_is_told_that_says_what_to_do(self):
        self.notices.publish({self.uuid: values.Reason(
            values.Code.BLOCKED, f'{"é" * 300}. What to do.')})
        [told] = self.told()
        self.assertRegex(told, '^blocked: é.*é. What to do.$')
        self.assertLessEqual(len(told.encode()), 255)

    def test_a_deleted_server_is_left_alone(self):
        self._delete_server(self.server)
        before = databases.dump()
        self.assertEqual(0, self.notices.publish({self.uuid: CAPACITY}))
        self.assertEqual(0, self.notices.publish(
            {uuidsentinel.never_there: CAPACITY}))
        self.assertEqual(
            [], databases.differences(before, databases.dump()))

    def test_a_server_on_its_way_is_left_alone(self):
        databases.update('cell0', models.Instance, self.uuid, hidden=True)
        self.assertEqual(0, self.notices.publish({self.uuid: CAPACITY}))

    def test_the_action_goes_along_when_the_server_is_rebuilt(self):
        self.notices.publish({self.uuid: CAPACITY})
        self._start_compute('host1')
        self.rebuild(self.server)
        self.active(self.server)
        self.assertEqual(1, len(self.told()))
