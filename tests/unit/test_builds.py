# SPDX-License-Identifier: Apache-2.0

"""Whether a server on no host has to stay in its cell."""

import ddt
import testtools

from cell0_rebuild.move import builds

BURIED = builds.Builds(1, frozenset(['data']))


@ddt.ddt
class BuildsTest(testtools.TestCase):

    @ddt.data(
        (BURIED, False),
        (BURIED._replace(ended=2), True),
        # No message has reached a compute.
        (BURIED._replace(ended=0), False),
        (BURIED._replace(volumes=frozenset(['data', 'made'])), True),
        (builds.Builds(2, frozenset()), False))
    @ddt.unpack
    def test_one_with_volumes_does_after_a_new_build_or_with_a_new_one(
        self, there, told,
    ):
        self.assertIs(told, builds.has_to_stay(there, BURIED))
