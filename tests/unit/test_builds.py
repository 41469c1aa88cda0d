# SPDX-License-Identifier: Apache-2.0

"""Whether a compute has had a server that is on no host."""

import ddt
import testtools

from cell0_rebuild.move import builds

BURIED = builds.Builds(None, 1, frozenset(['data']))


@ddt.ddt
class BuildsTest(testtools.TestCase):

    @ddt.data(
        (BURIED, False),
        (BURIED._replace(ended=2), True),
        # It is to be tried on another host.
        (BURIED._replace(task_state='scheduling', ended=2), False),
        # No message has reached a compute.
        (BURIED._replace(ended=0), False),
        (BURIED._replace(volumes=frozenset(['data', 'made'])), True),
        (BURIED._replace(task_state='scheduling',
                         volumes=frozenset(['data', 'made'])), True),
        (BURIED._replace(volumes=frozenset()), False))
    @ddt.unpack
    def test_the_end_of_a_new_build_or_a_new_volume_tells(self, there, told):
        self.assertIs(told, builds.was_with_compute(there, BURIED))
