# SPDX-License-Identifier: Apache-2.0

"""``cell0-rebuild-manage wait``: shows and rules servers that wait."""

from __future__ import annotations

import argparse
import sys
import typing as ty

from oslo_config import cfg

from cell0_rebuild.cmd import arguments
from cell0_rebuild.cmd import wait_list

DONE, REFUSED, INVALID = 0, 1, 2

_EXIT_CODES = (
    'Exit codes: 0, it is done; 1, it is refused for a server, or fails, and '
    'the text says why; 2, the arguments are invalid; 255, an unexpected '
    'error.')


def add_parser(subparsers: ty.Any) -> None:
    """Add the commands to a parser."""
    parser: argparse.ArgumentParser = subparsers.add_parser(
        'wait',
        help='Show servers that wait for a host, and decide about them.')
    commands = parser.add_subparsers(metavar='COMMAND', required=True)
    wait_list.add_parser(commands)
    command = _add(
        commands, 'set', _set, 'Set the priority of a server that waits.')
    arguments.add_server(command)
    command.add_argument(
        '--priority', type=int, required=True, metavar='N',
        help='Higher comes first; without one, a server has 0.')
    command = _add(
        commands, 'hold', _hold,
        'Hold a server: it waits, but is not rebuilt.')
    arguments.add_server(command)
    command.add_argument(
        '--reason', type=arguments.text, metavar='TEXT',
        help='Why, for other operators.')
    command = _add(
        commands, 'release', _release,
        'Let a server wait again that is held, or whose waiting was ended.')
    arguments.add_server(command)
    command = _add(
        commands, 'end', _end,
        'End the waiting of a server: it is shown as ERROR. Its owner can '
        'still rebuild it.')
    which = command.add_mutually_exclusive_group(required=True)
    arguments.add_server(command, which)
    which.add_argument(
        '--all', action='store_true', help='Of all servers that wait.')


def _add(
    commands: ty.Any, name: str, run: ty.Callable[[argparse.Namespace], int],
    text: str,
) -> argparse.ArgumentParser:
    parser: argparse.ArgumentParser = commands.add_parser(
        name, help=text, description=text, epilog=_EXIT_CODES)
    parser.set_defaults(run=run, internals=lambda internals: (
        *internals.MOVES, *internals.WAITING))
    return parser


def _set(options: argparse.Namespace) -> int:
    return _decide(
        options, f'has the priority {options.priority}',
        priority=options.priority)


def _hold(options: argparse.Namespace) -> int:
    return _decide(
        options, 'is held', held=True, reason=options.reason)


def _release(options: argparse.Namespace) -> int:
    return _decide(
        options, 'is released', held=False, reason=None, ended=False)


def _decide(
    options: argparse.Namespace, done: str, **entries: ty.Any
) -> int:
    from cell0_rebuild.wait.effects import operator_actions
    return _told(operator_actions.decide, options, done, **entries)


def _end(options: argparse.Namespace) -> int:
    from nova import context as nova_context

    from cell0_rebuild.wait.effects import operator_actions
    from cell0_rebuild.wait import wish_options
    done = 'waits no longer'
    if not options.all:
        return _told(operator_actions.end, options, done)
    wish_options.register(cfg.CONF)
    return max((
        _ended(uuid, done) for uuid in operator_actions.all_waiting(
            nova_context.get_admin_context(), wish_options.site(cfg.CONF))),
        default=DONE)


def _ended(uuid: str, done: str) -> int:
    from cell0_rebuild import exceptions
    from cell0_rebuild.wait.effects import operator_actions
    try:
        return _told(operator_actions.end, argparse.Namespace(
            server=uuid, project=None), done)
    except Exception as error:
        # It is in the way of no other.
        print(f'Server {uuid}: {exceptions.text(error)}', file=sys.stderr)
        return REFUSED


def _told(
    act: ty.Callable[..., None], options: argparse.Namespace, done: str,
    **entries: ty.Any,
) -> int:
    """Do something, say that it is done or why not; return the exit code."""
    from nova import context as nova_context

    from cell0_rebuild.wait.effects import operator_actions
    try:
        server = arguments.uuid_of(options)
        act(nova_context.get_admin_context(), server, **entries)
    except arguments.NoServer as error:
        print(error, file=sys.stderr)
        return INVALID
    except operator_actions.Refused as error:
        print(error, file=sys.stderr)
        return REFUSED
    print(f'Server {server} {done}.')
    return DONE
