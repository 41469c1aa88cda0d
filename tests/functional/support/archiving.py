# SPDX-License-Identifier: Apache-2.0

"""What an operator does with what is deleted."""

import contextlib
import io

from nova.cmd import manage

from tests.functional.support import databases


def archive(test):
    """Archive and purge what is deleted; fail if that does."""
    with contextlib.redirect_stdout(io.StringIO()):
        commands = manage.DbCommands()
        archived = commands.archive_deleted_rows(
            until_complete=True, all_cells=True)
        purged = commands.purge(purge_all=True, all_cells=True)
    test.assertIn((archived, purged), ((1, 0), (0, 3)))


def assert_archived(test, server_id):
    """Archive, and check that nothing is left of a server."""
    archive(test)
    test.assertEqual([], [
        f'{database}.{name}' for database, tables in databases.dump().items()
        for name in databases.rows_with(server_id, tables)])
