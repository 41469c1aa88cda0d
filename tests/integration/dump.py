# SPDX-License-Identifier: Apache-2.0

"""Everything that is in the databases, to compare and to search."""

import collections

# A service writes these while it does nothing: its heartbeat. They are all
# that may differ where nothing may have changed.
HEARTBEATS = {
    'services': {'updated_at', 'report_count', 'last_seen_up'},
}

# And these as well where something was done and undone.
UNDONE = {
    **HEARTBEATS,
    'instances': {'updated_at'},
    'instance_mappings': {'updated_at'},
    'request_specs': {'updated_at'},
}


class Dump:
    """All rows of all tables of some databases."""

    def __init__(self, connection, names):
        """:param names: of the databases."""
        self.rows = {}
        with connection.cursor() as cursor:
            cursor.execute(
                'SELECT table_schema, table_name FROM '
                'information_schema.tables WHERE table_schema IN %s', [names])
            for schema, table in cursor.fetchall():
                self.rows[schema, table] = _read(cursor, schema, table)

    def changes(self, later, ignored):
        """Return a line for each row that is only here or only there.

        :param ignored: columns that may differ, by table.
        """
        lines = []
        for key in sorted(self.rows.keys() | later.rows.keys()):
            unseen = ignored.get(key[1], set())
            before = _countable(self.rows.get(key, []), unseen)
            after = _countable(later.rows.get(key, []), unseen)
            lines += [f'- {key} {row}' for row in (before - after).elements()]
            lines += [f'+ {key} {row}' for row in (after - before).elements()]
        return lines

    def mentions(self, value):
        """Count the rows that have a value in any column, by table."""
        return {key: count for key, rows in self.rows.items()
                if (count := sum(value in row.values() for row in rows))}


def _read(cursor, schema, table):
    cursor.execute(f'SELECT * FROM `{schema}`.`{table}`')
    columns = [column[0] for column in cursor.description]
    return [dict(zip(columns, row, strict=True)) for row in cursor.fetchall()]


def _countable(rows, unseen):
    return collections.Counter(
        str({key: value for key, value in row.items() if key not in unseen})
        for row in rows)
