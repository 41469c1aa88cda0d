# SPDX-License-Identifier: Apache-2.0

"""The steps of an attempt are those of the table, and the table is true."""

import importlib

import ddt
import testtools

from cell0_rebuild.move import attempt
from cell0_rebuild.move import attempt_record
from cell0_rebuild.move.recovery import diagnosis
from cell0_rebuild.move import stage

Stage = stage.Stage


@ddt.ddt
class TableTest(testtools.TestCase):

    @ddt.idata(stage.STEPS)
    def test_each_step_is_taken_by_a_function_of_ours(self, step):
        module, name = step.function.split('.')
        module = importlib.import_module(f'cell0_rebuild.move.{module}')
        self.assertTrue(callable(getattr(module, name)))

    @ddt.idata(stage.STEPS)
    def test_what_is_left_is_a_state_that_recover_knows(self, step):
        self.assertLessEqual(
            set(step.left), {state.value for state in diagnosis.State})

    def test_each_stage_can_be_reached_from_cell0(self):
        reached, more = set(), {Stage.IN_CELL0}
        while more - reached:
            reached |= more
            more = {step.new for step in stage.STEPS if step.old in reached}
        self.assertEqual(set(Stage), reached)

    def test_cell0_can_be_reached_from_each_stage_but_built(self):
        back, more = set(), {Stage.IN_CELL0}
        while more - back:
            back |= more
            more = {step.old for step in stage.STEPS if step.new in back}
        self.assertEqual(set(Stage) - {Stage.BUILT}, back)


class ReachTest(testtools.TestCase):

    def attempt(self, at):
        return attempt.Attempt(
            'uuid', attempt_record.AttemptRecord('generation', [], {}), at)

    def test_a_step_of_the_table_is_taken(self):
        found = self.attempt(Stage.TAKEN)
        found.reach(Stage.HANDED_OVER)
        self.assertIs(Stage.HANDED_OVER, found.stage)

    def test_any_other_step_is_refused(self):
        found = self.attempt(Stage.TAKEN)
        error = self.assertRaises(
            ValueError, found.reach, Stage.OUT_OF_CELL)
        self.assertEqual(
            'no attempt that is taken can be out of its cell', str(error))
        self.assertIs(Stage.TAKEN, found.stage)

    def test_a_stage_may_be_reached_again(self):
        found = self.attempt(Stage.MAYBE_MAPPED_BACK)
        found.reach(Stage.MAYBE_MAPPED_BACK)
        self.assertIs(Stage.MAYBE_MAPPED_BACK, found.stage)

    def test_it_is_handed_over_from_the_moment_that_it_may_be(self):
        self.assertEqual(
            {Stage.IN_CELL0, Stage.ASKED, Stage.TAKEN},
            {at for at in Stage if not at.is_handed_over})
