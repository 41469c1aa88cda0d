# SPDX-License-Identifier: Apache-2.0

"""One of two waiting services dies, or is overtaken, at any boundary."""

from tests.faults import boundaries
from tests.faults import series
from tests.faults import sweeps


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

    def play_all(self, faults):
        """Let each fault happen; fail if a server suffers from one."""
        self.assertGreater(len(faults), 10)
        cases, _ = series.chosen(faults, [None])
        for fault, _ in cases:
            with self.subTest(str(fault)):
                self.bury_all()
                self.sweep_under(fault)
                self.assertTrue(fault.struck)
                self.go_on()

    def test_it_dies_and_no_server_is_lost_or_rebuilt_twice(self):
        self.play_all([
            series.Crash(boundary, when)
            for boundary in self.boundaries_of_a_sweep()
            for when in (boundaries.BEFORE, boundaries.AFTER)])

    def test_another_sweeps_meanwhile_and_each_is_rebuilt_once(self):
        self.play_all([
            sweeps.Meeting(boundary, lambda: self.a_sweeper().sweep())
            for boundary in self.boundaries_of_a_sweep()])
