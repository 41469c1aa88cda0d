# SPDX-License-Identifier: Apache-2.0

"""Asks why a server waits."""

import argparse
import contextlib
import io
import json

from cell0_rebuild.cmd import why
from tests.functional.support import asking
from tests.functional.support import databases


class WhyMixin(asking.AskingMixin):
    """Asks why a server waits."""

    def why(self, server):
        """Run the command; return its exit code and what it prints."""
        output, errors = io.StringIO(), io.StringIO()
        before = databases.dump()
        with contextlib.redirect_stdout(output), contextlib.redirect_stderr(
                errors):
            code = why.run(argparse.Namespace(
                server=server['id'], project=None, format='json'))
        self.assertEqual(
            [], databases.differences(before, databases.dump()))
        text = output.getvalue()
        return code, json.loads(text) if text else errors.getvalue()

    def assert_asks_for(self, asked, server):
        """Check what Placement is asked for, and return what is found."""
        self.recorded.taken()
        _, found = self.why(server)
        self.assertEqual(asked, self.recorded.taken()[0])
        return found
