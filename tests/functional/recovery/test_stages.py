# SPDX-License-Identifier: Apache-2.0

"""A process dies at each stage of an attempt: the table says what is left."""

import contextlib

import ddt
from nova.db.main import models

from cell0_rebuild.move import attempt
from cell0_rebuild.move import stage
from tests.functional import base
from tests.functional import databases
from tests.functional import recover_base
from tests.functional import recovering


def take(context, instance_uuid, *args):
    """Have a compute take the server of which it was told after all."""
    databases.update('cell1', models.Instance, instance_uuid, host='host1')


# What happens to an attempt, by which it comes to its stages.
STORIES = {
    'the compute is told': {},
    'the compute cannot be told': {
        (recovering.CAST, 'before'): recovering.fail},
    'the compute takes it all the same': {
        (recovering.CAST, 'before'): recovering.fail,
        (recovering.REMOVE, 'before'): take},
    'the database goes away before the end': {
        (recovering.END, 'before'): recovering.lose_database},
    'the database goes away at the end': {
        (recovering.END, 'after'): recovering.lose_database}}


@ddt.ddt
class StagesTest(recover_base.RecoverTestCase):

    def setUp(self):
        super().setUp()
        self.reach = attempt.Attempt.reach

    def steps(self, story, last=None):
        """Have a server rebuilt; return its ID and the steps of its attempt.

        :param last: the process dies after so many of them.
        """
        self.reserve_vcpus('host1', 10)
        server, steps = self.bury(), []
        self.reserve_vcpus('host1', 0)

        def reach(found, new):
            steps.append((found.stage, new))
            self.reach(found, new)
            if len(steps) == last:
                raise recovering.Crash
        with contextlib.ExitStack() as faults:
            faults.enter_context(base.fixtures.MonkeyPatch(
                'cell0_rebuild.move.attempt.Attempt.reach', reach))
            for (name, when), fault in STORIES[story].items():
                faults.enter_context(base.Interception(name, **{when: fault}))
            self.rebuild(server)
            with contextlib.suppress(recovering.Crash):
                self.late.deliver(-1)
        return server['id'], steps

    @ddt.data(*STORIES)
    def test_what_is_left_is_what_the_table_says_if(self, story):
        _, steps = self.steps(story)
        self.assertNotEqual([], steps)
        for number, step in enumerate(steps, 1):
            with self.subTest(step):
                server_id, died_after = self.steps(story, number)
                self.assertEqual(steps[:number], died_after)
                self.assertIn(self.state(server_id), self.left_by(*step))
                recovering.recover(server_id)

    def state(self, server_id):
        """Return the state that a recovery finds."""
        _, found = recovering.recover(server_id, dry_run=True)
        return found[server_id]['state']

    def left_by(self, old, new):
        """Return the states that the table names for a step."""
        return {state for step in stage.STEPS
                if (step.old, step.new) == (old, new) for state in step.left}

    def test_each_step_of_an_attempt_in_a_cell_is_taken(self):
        taken = {step for story in STORIES for step in self.steps(story)[1]}
        self.assertEqual({
            (step.old, step.new) for step in stage.STEPS
            if stage.Stage.BUILT is not step.new
            and step.old.is_handed_over | step.new.is_handed_over
            and step.new is not stage.Stage.IN_CELL0}, taken)
