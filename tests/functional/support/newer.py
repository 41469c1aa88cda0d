# SPDX-License-Identifier: Apache-2.0

"""What a newer version of the package writes."""

import fixtures

from cell0_rebuild.move import journal


class NewerEntry(fixtures.Fixture):
    """A newer nova-api or conductor has stored the entry of the attempt."""

    def _setUp(self):
        to_primitive = journal.Entry.to_primitive
        self.useFixture(fixtures.MonkeyPatch(
            'cell0_rebuild.move.journal.Entry.to_primitive',
            lambda entry: {**to_primitive(entry), 'newer': 'unknown'}))
