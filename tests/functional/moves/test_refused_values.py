# SPDX-License-Identifier: Apache-2.0

"""A build request takes a value, as JSON, that no row of a server takes."""

from tests.functional.support import races_base
from tests.functional.support import recover_base
from tests.functional.support import recovering

# Half of a character: JSON has it, and no database takes it.
REFUSED = '\ud800'


class RefusedValueTest(recover_base.RecoverTestCase):

    def assert_buried_without(self, **kept):
        """Check that it is buried, with what was accepted and can be kept."""
        server = self.buried_again(self.server)
        self.assertEqual(kept, {name: server[name] for name in kept})
        self.assert_buried()
        self.assert_can_be_rebuilt()

    def test_a_rebuild_that_asks_for_it_is_buried_without(self):
        # The cell refuses it, and then cell0.
        self.rebuild(self.server, name='asked', metadata={'key': REFUSED})
        self.late.deliver()
        self.assert_buried_without(name='asked', metadata={})

    def test_one_whose_conductor_has_died_is_recovered_without(self):
        self.rebuild_until(
            races_base.SCHEDULER, before=recovering.crash, name='asked',
            metadata={'key': REFUSED})
        self.assert_recovered('on its way')
        self.assert_buried_without(name='asked', metadata={})
