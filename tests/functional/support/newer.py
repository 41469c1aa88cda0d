# SPDX-License-Identifier: Apache-2.0

"""What a newer version of the package writes."""

import fixtures

from cell0_rebuild.move import journal
from tests.functional import base

_STORED = base.name_of(journal.Entry.to_primitive)


class NewerEntry(fixtures.Fixture):
    """A newer nova-api or conductor has stored the entry of the attempt."""

    def _setUp(self):
        to_primitive = journal.Entry.to_primitive
        self.useFixture(fixtures.MonkeyPatch(
            _STORED,
            lambda entry: {**to_primitive(entry), 'newer': 'unknown'}))
