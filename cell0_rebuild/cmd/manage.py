# SPDX-License-Identifier: Apache-2.0

"""``cell0-rebuild-manage``: mends what a crash left, and rules who waits.

Nova is imported only in :func:`main`: importing it must wait until Nova has
set up the concurrency of this process.
"""

from __future__ import annotations

import argparse
import collections.abc
import datetime
import importlib.metadata
import itertools
import json
import sys
import traceback
import typing as ty

from oslo_config import cfg
import prettytable

from cell0_rebuild.cmd import arguments
from cell0_rebuild.cmd import bury
from cell0_rebuild.cmd import logs
from cell0_rebuild.cmd import wait_commands
from cell0_rebuild.cmd import why
from cell0_rebuild import exceptions
from cell0_rebuild import nova_compat

if ty.TYPE_CHECKING:
    from cell0_rebuild.move.recovery import mend

AGE = 3600

# Rows of a table: it must not grow with what is found.
ROWS = 500

MENDED, NOT_MENDED, INVALID, FOUND, UNEXPECTED = 0, 1, 2, 3, 255

_EXIT_CODES = (
    'Exit codes: 0, there was nothing to do or all was mended; 1, something '
    'could not be mended; 2, the arguments are invalid, or this Nova is not '
    'supported; 3, --dry-run has found something; 255, an unexpected error.')


def _seconds(text: str) -> int:
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(
            f'{text!r} is not a number of seconds.')
    return int(text)


def add_parsers(subparsers: ty.Any) -> None:
    """Add the commands to a parser."""
    parser: argparse.ArgumentParser = subparsers.add_parser(
        'recover', epilog=_EXIT_CODES,
        help='Mend servers that a crash left in the middle of a rebuild.',
        description='Mend servers that a crash of a nova-api, a '
                    'nova-conductor, the broker or a database left in the '
                    'middle of a rebuild from cell0. A server that no '
                    'compute has is buried again, one that a compute has is '
                    'finished.')
    parser.add_argument(
        '--server', action='append', type=arguments.server, metavar='UUID',
        help='Look at this server only; can be given more than once.')
    parser.add_argument(
        '--older-than', type=_seconds, default=AGE, metavar='SECONDS',
        help='Leave alone what was touched since: it may be in progress. '
             'Default: %(default)s. Below that, stop all nova-conductors '
             'first.')
    parser.add_argument(
        '--dry-run', action='store_true',
        help='Only show what would be done.')
    arguments.add_format(parser)
    parser.set_defaults(run=recover, internals=lambda nova_internals: (
        nova_internals.DELETION, *nova_internals.MOVES,
        *nova_internals.ALLOCATIONS, *nova_internals.LEFTOVERS,
        *nova_internals.RECOVERY))
    bury.add_parser(subparsers)
    why.add_parser(subparsers)
    wait_commands.add_parser(subparsers)


COMMAND = cfg.SubCommandOpt(
    'command', title='Commands', help='What to do', handler=add_parsers)


def recover(options: ty.Any) -> int:
    """Run ``recover`` and return the exit code.

    :param options: what :func:`add_parsers` has parsed.
    """
    from oslo_utils import timeutils

    from cell0_rebuild.move.recovery import mend
    run = mend.Recovery(
        timeutils.utcnow() - datetime.timedelta(seconds=options.older_than))
    counts = {'found': 0, 'problems': 0}

    def counted() -> collections.abc.Iterator[mend.Result]:
        for result in run.run(options.server, options.dry_run):
            counts['found'] += 1
            counts['problems'] += result.problem is not None
            yield result

    show = show_json if options.format == 'json' else show_table
    show(counted(), 'would be mended' if options.dry_run else 'mended')
    if options.format == 'table' and not (counts['found'] or run.warnings):
        print(nothing(options.older_than))
    for warning in run.warnings:
        print(warning, file=sys.stderr)
    if run.warnings or counts['problems']:
        return NOT_MENDED
    return FOUND if options.dry_run and counts['found'] else MENDED


def show_table(
    results: collections.abc.Iterator[mend.Result], done: str
) -> None:
    """Print results as tables, a new one every :data:`ROWS` rows.

    :param done: the result of a server without a problem.
    """
    while page := list(itertools.islice(results, ROWS)):
        table = prettytable.PrettyTable(
            ['Server', 'State', 'Action', 'Result'])
        table.align = 'l'
        for result in page:
            table.add_row([result.uuid, result.state, result.action,
                           result.problem or done])
        print(table)


def nothing(age: int) -> str:
    """Return what is said in place of a table.

    :param age: how old, in seconds, what was looked at had to be.
    """
    text = 'Nothing to do.'
    if age:
        text += f' What was touched in the last {age} s was left alone.'
    return text


def show_json(
    results: collections.abc.Iterator[mend.Result], done: str
) -> None:
    """Print results as a JSON list, each as soon as it is there."""
    separator = '['
    for result in results:
        print(separator, json.dumps({
            'server': result.uuid, 'state': result.state,
            'action': result.action, 'result': result.problem or done,
        }), sep='', end='')
        separator = ',\n '
    print(']' if separator != '[' else '[]')


def main() -> int:
    """Parse the command line and run the command."""
    if '--version' in sys.argv[1:]:
        # Nova's parser would print that of Nova.
        print(importlib.metadata.version('cell0-rebuild'))
        return MENDED
    nova_compat.set_up_concurrency()
    try:
        _configure(sys.argv)
        return int(cfg.CONF.command.run(cfg.CONF.command))
    except exceptions.PatchMismatch as error:
        print(f'cell0-rebuild-manage cannot run with this Nova: {error}.',
              file=sys.stderr)
        return INVALID
    except Exception:
        traceback.print_exc()
        return UNEXPECTED


def _configure(argv: list[str]) -> None:
    from nova import config
    from nova import objects

    from cell0_rebuild import activation
    from cell0_rebuild.cmd import noop_messaging
    from cell0_rebuild import conf as options
    from cell0_rebuild import nova_internals
    from cell0_rebuild import patching
    cfg.CONF.register_cli_opt(COMMAND)
    config.parse_args(argv, init_rpc=False)
    noop_messaging.set_up()
    logs.set_up(argv)
    objects.register_all()
    options.register(cfg.CONF)
    activation.check_nova(cfg.CONF)
    activation.load(('objects',)).install()
    patching.PatchSet(
        patching.Reliance(target)
        for target in cfg.CONF.command.internals(nova_internals)).check()


if __name__ == '__main__':
    sys.exit(main())
