# SPDX-License-Identifier: Apache-2.0

"""What is left of a deleted server in the databases."""

from tests.functional.support import databases

# What Nova itself leaves of a server that is deleted after its conductor has
# died with them; see tests/upstream/test_overtaken.py.
ACCELERATORS = 'accelerators'
# What it leaves of one whose conductor has died at the end of its burial.
BUILD_REQUEST = 'api.build_requests'
# What it leaves of one that is deleted just before its compute claims it.
EXTRA = 'live instance_extra in a cell'


def of(server_id, dump=None):
    """Return a readable set of the rows that belong to a server.

    They may stand beside the soft-deleted row of the instance in a cell, with
    which Nova archives them and those of the API database; else they are said
    to be orphans.

    :param dump: all rows as {database: {table: [row, ...]}}.
    """
    rows = {database: _rows(server_id, tables) for database, tables in (
        dump or databases.dump()).items()}
    buried = {database for database, found in rows.items() if any(
        table == 'instances' and row['deleted'] for table, row in found)}
    if buried:
        buried.add('api')
    return {
        _name(database, table, row) if database in buried
        else f'orphans in {database}.{table}'
        for database, found in rows.items() for table, row in found}


def is_orphan(name):
    """Tell whether it is what Nova neither sees nor archives.

    In a real cell it would be listed.
    """
    return name.startswith(('orphans in cell0.', 'orphans in api.'))


def _name(database, table, row):
    return (_of_api if database == 'api' else _of_cell)(table, row)


def _of_api(table, row):
    if table == 'instance_mappings':
        return f'api.{table}, deleted: {bool(row["queued_for_delete"])}'
    return f'api.{table}'


def _of_cell(table, row):
    return f'{"deleted" if row.get("deleted") else "live"} {table} in a cell'


def _rows(server_id, tables):
    rows = [(name, row) for name, found in tables.items() for row in found
            if server_id in row.values()]
    actions = {row['id'] for name, row in rows if name == 'instance_actions'}
    return rows + [
        ('instance_actions_events', row)
        for row in tables.get('instance_actions_events', ())
        if row['action_id'] in actions]
