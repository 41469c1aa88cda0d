# SPDX-License-Identifier: Apache-2.0

"""What ``cell0-rebuild-manage why`` prints."""

import contextlib
import io

import testtools

from cell0_rebuild.cmd import why as command
from cell0_rebuild.wait.demand import queries
from cell0_rebuild.wait.demand import why
from cell0_rebuild.wait import texts

UUID = '4e6f1e5c-7a0c-4b1e-9d51-8c36e7a0f2b9'
MEMORY = queries.Demand(queries.Kind.RESOURCE, 'MEMORY_MB', 4096)
GPU = queries.Demand(queries.Kind.RESOURCE, 'PCI_GPU', 4)
SHORT = [why.Short(GPU, 6)]


def shown(**values):
    """Return what is printed for people."""
    output = io.StringIO()
    with contextlib.redirect_stdout(output):
        command._show(why.Explanation(UUID, [MEMORY, GPU], **values))
    return output.getvalue()


class OutputTest(testtools.TestCase):

    def test_the_table_tells_what_is_short(self):
        text = shown(reason=why.capacity(SHORT), short=SHORT)
        self.assertIn('| 4 PCI_GPU      | 6                |', text)
        self.assertIn('| 4096 MEMORY_MB |                  |', text)

    def test_the_verdict_is_a_sentence(self):
        self.assertIn(
            'capacity: No host has 4 PCI_GPU free; 6 hosts have room for the '
            'rest.\n', shown(reason=why.capacity(SHORT), short=SHORT))

    def test_a_server_that_would_find_a_host_is_told_of(self):
        self.assertIn('Placement has room now. Hosts: 2.',
                      shown(reason=None, hosts=2))

    def test_notes_come_last(self):
        text = shown(
            reason=texts.NO_ROLE, notes=['Mind it.'])
        self.assertEqual('Mind it.', text.splitlines()[-1])
