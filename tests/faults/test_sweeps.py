# SPDX-License-Identifier: Apache-2.0

"""One of two waiting services dies, or is overtaken, at any boundary."""

from tests.faults import boundaries
from tests.faults import series
from tests.faults import stories
from tests.faults import sweeps

# What one of the services meets; a row of the table each.
_DEATH, _OVERTAKEN = 'it dies', 'another sweeps'


class SweepTest(sweeps.SweepCase):

    def boundaries_of_a_sweep(self):
        """Return the boundaries that a sweep without a fault crosses."""
        # What is cached is asked for only by the first.
        for _ in range(2):
            self.bury_all()
            process = self.sweep_under(None)
            self.go_on()
        for kind in ('http', 'placement', 'commit'):
            self.assertIn(kind, {
                boundary.kind for boundary in process.crossed})
        return [boundary for boundary in process.crossed
                if boundary.kind != 'begin']

    def go_on(self):
        """Let two services sweep, check what becomes of the servers."""
        for sweeper in (self.a_sweeper(), self.a_sweeper()) * 2:
            sweeper.sweep()
        self.check_all()
        self.delete_all()

    def play_all(self, story, faults):
        """Let each fault happen; fail if a server suffers from one."""
        self.assertGreater(len(faults), 10)
        cases, total = series.chosen(faults, [sweeps.GO_ON])
        problems = []
        for fault, ending in series.left(self, story, cases):
            problem = self._play(fault)
            series.log_run(self, story, fault, ending, problem, cleared=False)
            if problem:
                problems.append(f'{fault}: {problem}')
        self.assertEqual([], problems, f'{len(cases)} of {total} faults')

    def _play(self, fault):
        """Return what is wrong with the servers after a fault, or None."""
        self.bury_all()
        self.sweep_under(fault)
        try:
            if not fault.struck:
                return stories.Problem('the boundary was not reached')
            self.go_on()
        except AssertionError as error:
            return stories.Lost(str(error))
        finally:
            # What is left would be in the way of the next fault.
            self.forget_all()
        return None

    def test_it_dies_and_no_server_is_lost_or_rebuilt_twice(self):
        self.play_all(_DEATH, [
            series.Crash(boundary, when)
            for boundary in self.boundaries_of_a_sweep()
            for when in (boundaries.BEFORE, boundaries.AFTER)])

    def test_another_sweeps_meanwhile_and_each_is_rebuilt_once(self):
        self.play_all(_OVERTAKEN, [
            sweeps.Meeting(boundary, lambda: self.a_sweeper().sweep())
            for boundary in self.boundaries_of_a_sweep()])
