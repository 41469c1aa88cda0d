# SPDX-License-Identifier: Apache-2.0

"""``cell0-rebuild-manage bury``: buries a server that failed on a compute."""

from __future__ import annotations

import argparse
import sys

from cell0_rebuild.cmd import arguments

BURIED, FAILED, INVALID, FOUND = 0, 1, 2, 3

_EXIT_CODES = (
    'Exit codes: 0, it is buried; 1, it cannot be; 2, the arguments are '
    'invalid, or this Nova is not supported; 3, --dry-run has found nothing '
    'against it; 255, an unexpected error.')


def add_parser(subparsers: object) -> None:
    """Add the command to a parser."""
    parser: argparse.ArgumentParser = subparsers.add_parser(  # type: ignore
        'bury', epilog=_EXIT_CODES,
        help='Bury a server that failed on a compute, so that it can be '
             'rebuilt.',
        description='Bury a server that failed in its only build, on a host '
                    'with libvirt, and never ran. It can then be rebuilt like '
                    'one that found no host. Its nova-compute is asked '
                    'whether the build is over, and left no guest. There must '
                    'be only one nova-compute process for that host. What is '
                    'not proven to be at rest is left alone.')
    parser.add_argument(
        'server', metavar='UUID', type=arguments.server,
        help='The UUID of the server.')
    parser.add_argument(
        '--dry-run', action='store_true',
        help='Change nothing, and do not ask the nova-compute.')
    parser.set_defaults(run=run, internals=lambda internals: (
        internals.DELETION, *internals.MOVES, *internals.ALLOCATIONS,
        *internals.LEFTOVERS, *internals.FENCE,
        internals.nova_internals_checks.NEUTRON_CLIENT))


def run(options: argparse.Namespace) -> int:
    """Run the command and return the exit code.

    :param options: what :func:`add_parser` has parsed.
    """
    from nova import context as nova_context

    from cell0_rebuild import exceptions
    from cell0_rebuild.failed import asking
    from cell0_rebuild.failed import bury
    from cell0_rebuild.failed import records
    context, uuid = nova_context.get_admin_context(), options.server
    try:
        if options.dry_run:
            host = bury.check(context, uuid).host
            print(f'Nothing that is stored of server {uuid} is against it. '
                  f'The nova-compute of host {host} was not asked.')
            return FOUND
        bury.bury(context, uuid)
    except (asking.NotAtRest, records.NotFailed,
            exceptions.Unreadable) as error:
        print(f'Server {uuid} cannot be buried. {str(error).rstrip(".")}.',
              file=sys.stderr)
        return FAILED
    print(f'Server {uuid} is buried. Its owner can rebuild it.')
    return BURIED
