# SPDX-License-Identifier: Apache-2.0

"""``cell0-rebuild-manage wait list``: shows who waits, and why."""

from __future__ import annotations

import collections.abc
import itertools
import json
import sys
import typing as ty

from oslo_config import cfg
from oslo_utils import timeutils
import prettytable

from cell0_rebuild.cmd import arguments
from cell0_rebuild.cmd import html_page

if ty.TYPE_CHECKING:
    import argparse
    import datetime

    from cell0_rebuild.wait import listing

DONE, FAILED = 0, 1

# Rows of a table: it must not grow with what is found.
ROWS = 500

_EXIT_CODES = (
    'Exit codes: 0, all is shown; 1, Placement does not answer; 2, the '
    'arguments are invalid; 255, an unexpected error.')

_COLUMNS = ('Position', 'Server', 'Project', 'Waiting since', 'Until',
            'Attempts', 'Asks for', 'Reason', 'Next look')


def add_parser(commands: ty.Any) -> None:
    """Add the command to a parser."""
    parser = commands.add_parser(
        'list', epilog=_EXIT_CODES,
        help='Show all servers that wait, and why. Nothing is changed.',
        description='Show all servers that wait in cell0, in their order, '
                    'and why each waits. Nothing is changed or claimed.')
    parser.add_argument(
        '--project', metavar='ID', help='Only the servers of this project.')
    arguments.add_format(parser, 'html')
    parser.set_defaults(run=run, internals=lambda internals: (
        *internals.MOVES, *internals.DEMANDS, *internals.PROBES,
        *internals.SHARES, *internals.WAITING))


def run(options: argparse.Namespace) -> int:
    """Run the command and return the exit code.

    :param options: what :func:`add_parser` has parsed.
    """
    from nova import context as nova_context

    from cell0_rebuild import exceptions
    from cell0_rebuild.wait import listing
    from cell0_rebuild.wait import options as wait_options
    wait_options.register(cfg.CONF)
    rows = listing.rows(
        nova_context.get_admin_context(), cfg.CONF, options.project)
    try:
        _FORMATS[options.format](rows)
    except exceptions.NoPlacement as error:
        print(f'Placement cannot be asked: {error}', file=sys.stderr)
        return FAILED
    return DONE


def _show(rows: collections.abc.Iterator[listing.Row]) -> None:
    """Print rows as tables, a new one every :data:`ROWS` rows."""
    while page := list(itertools.islice(rows, ROWS)):
        table = prettytable.PrettyTable(_COLUMNS)
        table.align = 'l'
        table.add_rows([_cells(row, _time) for row in page])
        print(table)


def _cells(
    row: listing.Row, time: ty.Callable[[datetime.datetime], str]
) -> list[ty.Any]:
    reason = row.reason.code.value
    return [
        '-' if row.position is None else row.position, row.server.uuid,
        row.server.project_id, time(row.server.created_at),
        time(row.server.deadline), row.server.failures, row.shape,
        f'{reason}: {row.note}' if row.note else reason,
        '' if row.next_look is None else time(row.next_look)]


def _show_json(rows: collections.abc.Iterator[listing.Row]) -> None:
    print(json.dumps([{
        'position': row.position, 'server': row.server.uuid,
        'project': row.server.project_id,
        'waiting_since': _time(row.server.created_at),
        'deadline': _time(row.server.deadline),
        'priority': row.server.priority, 'attempts': row.server.failures,
        'shape': row.shape, 'reason': row.reason.code.value,
        'text': str(row.reason), 'note': row.note,
        'next_look': row.next_look and _time(row.next_look),
    } for row in rows], indent=1))


def _show_html(rows: collections.abc.Iterator[listing.Row]) -> None:
    all_rows = list(rows)
    print(html_page.page(
        _COLUMNS, [_cells(row, _time_in_two_lines) for row in all_rows],
        (row.reason.code.value for row in all_rows),
        _time(timeutils.utcnow())))


def _time(when: datetime.datetime) -> str:
    return f'{when:%Y-%m-%dT%H:%M:%SZ}'


def _time_in_two_lines(when: datetime.datetime) -> str:
    return f'{when:%Y-%m-%d\n%H:%M:%SZ}'


_FORMATS = {'table': _show, 'json': _show_json, 'html': _show_html}
