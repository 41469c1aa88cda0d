# SPDX-License-Identifier: Apache-2.0

"""A sweep changes the shown status of some servers at a time."""

import fixtures
import testtools

from cell0_rebuild.wait.effects import shown_status


class BoundTestCase(testtools.TestCase):

    def setUp(self):
        super().setUp()
        self.written = []
        # Those of "no" cannot be shown otherwise.
        for name in ('_show_build', 'show_error'):
            self.useFixture(fixtures.MonkeyPatch(
                f'cell0_rebuild.wait.effects.shown_status.{name}',
                lambda context, uuid: not uuid.startswith('no') and (
                    self.written.append(uuid) or True)))
        self.status = shown_status.ShownStatus(None)

    def servers(self, name, count):
        return {f'{name}-{number:03}' for number in range(count)}

    def test_a_hundred_are_written_in_one_sweep(self):
        self.status.update(self.servers('waiting', 101), set())
        self.assertEqual(100, len(self.written))

    def test_those_whose_time_is_over_come_first(self):
        over = self.servers('over', 60)
        self.status.update(self.servers('waiting', 60), over)
        self.assertEqual(100, len(self.written))
        self.assertEqual(sorted(over), self.written[:60])

    def test_those_that_cannot_be_written_do_not_count(self):
        self.status.update(
            self.servers('no', 50) | self.servers('waiting', 101), set())
        self.assertEqual(100, len(self.written))
