# SPDX-License-Identifier: Apache-2.0

"""``cell0-rebuild-manage why``: tells why a buried server finds no host."""

from __future__ import annotations

import argparse
import json
import sys
import typing as ty

import prettytable

from cell0_rebuild.cmd import arguments

if ty.TYPE_CHECKING:
    from cell0_rebuild.wait.demand import why

FITS, FAILED, INVALID, SHORT = 0, 1, 2, 3

_EXIT_CODES = (
    'Exit codes: 0, Placement has room now; 1, it cannot be told; 2, the '
    'arguments are invalid; 3, it has none; 255, an unexpected error.')


def add_parser(subparsers: ty.Any) -> None:
    """Add the command to a parser."""
    parser: argparse.ArgumentParser = subparsers.add_parser(
        'why', epilog=_EXIT_CODES,
        help='Tell why a buried server finds no host. Nothing is changed.',
        description='Ask Placement for what a buried server needs, and tell '
                    'what is short. Nothing is changed or claimed.')
    arguments.add_server(parser)
    arguments.add_format(parser)
    parser.set_defaults(run=run, internals=lambda internals: (
        *internals.MOVES, *internals.DEMANDS, *internals.PROBES,
        *internals.WAITING))


def run(options: argparse.Namespace) -> int:
    """Run the command and return the exit code.

    :param options: what :func:`add_parser` has parsed.
    """
    from nova import context as nova_context

    from cell0_rebuild import exceptions
    from cell0_rebuild.wait.demand import shapes
    from cell0_rebuild.wait.demand import why
    try:
        found = why.explain(
            nova_context.get_admin_context(), arguments.uuid_of(options))
    except arguments.NoServer as error:
        print(error, file=sys.stderr)
        return INVALID
    except shapes.NotBuried as error:
        print(error, file=sys.stderr)
        return FAILED
    except exceptions.NoPlacement as error:
        print(f'Placement cannot be asked: {error}', file=sys.stderr)
        return FAILED
    (_show_json if options.format == 'json' else _show)(found)
    return FITS if found.reason is None else SHORT


def _show(found: why.Explanation) -> None:
    table = prettytable.PrettyTable(['Asked for', 'Hosts without it'])
    table.align = 'l'
    short = {one.demand: one.hosts for one in found.short}
    for demand in found.asked:
        table.add_row([demand, short.get(demand, '')])
    if found.asked:
        print(table)
    print(_verdict(found))
    for note in found.notes:
        print(note)


def _verdict(found: why.Explanation) -> str:
    if found.reason is None:
        return (f'Placement has room now. Hosts: {found.hosts}. The filters '
                f'of the scheduler were not asked.')
    return f'{found.reason.code.value}: {found.reason}'


def _show_json(found: why.Explanation) -> None:
    print(json.dumps({
        'server': found.uuid,
        'reason': found.reason and found.reason.code.value,
        'text': _verdict(found),
        'hosts': found.hosts,
        'asked': [{
            'kind': demand.kind.value, 'what': demand.what,
            'amount': demand.amount, 'group': demand.group,
        } for demand in found.asked],
        'short': [{
            'kind': short.demand.kind.value, 'what': short.demand.what,
            'amount': short.demand.amount, 'group': short.demand.group,
            'hosts': short.hosts,
        } for short in found.short],
        'notes': found.notes}, indent=1))
