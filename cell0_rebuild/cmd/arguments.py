# SPDX-License-Identifier: Apache-2.0

"""Arguments that several commands have."""

from __future__ import annotations

import argparse
import typing as ty
import uuid


def server(text: str) -> str:
    """Return the UUID of a server, as Nova writes it.

    :raises ArgumentTypeError: if it is none.
    """
    try:
        return str(uuid.UUID(text))
    except ValueError as error:
        raise argparse.ArgumentTypeError(
            f'{text!r} is not the UUID of a server. "openstack server show '
            f'NAME -f value -c id" prints it.') from error


def text(given: str) -> str:
    """Return a text as it is.

    :raises ArgumentTypeError: if it is not in the encoding of the terminal.
    """
    if not given.isprintable():
        raise argparse.ArgumentTypeError(
            f'{given!r} has characters that cannot be shown. Is it written in '
            f'the encoding of this terminal, say UTF-8?')
    return given


class NoServer(Exception):
    """No server is meant, or several; the text says what to give."""


def add_server(
    parser: argparse.ArgumentParser, others: ty.Any = None
) -> None:
    """Add the server that a command is about.

    :param others: the group of what can be given in its place, or None.
    """
    how: dict[str, ty.Any] = {'nargs': '?'} if others else {}
    (others or parser).add_argument(
        'server', metavar='SERVER', **how,
        help='The UUID of the server, or its name with --project.')
    parser.add_argument(
        '--project', metavar='ID', help='Of the server, if SERVER is a name.')


def uuid_of(options: argparse.Namespace) -> str:
    """Return the UUID of the server that a command is about.

    :param options: what :func:`add_server` has parsed.
    :raises NoServer: if that is not clear.
    """
    from cell0_rebuild.wait.census import buried
    given, project_id = options.server, options.project
    try:
        return str(uuid.UUID(given))
    except ValueError:
        if project_id is None:
            raise NoServer(
                f'{given!r} is not the UUID of a server. Give the UUID, which '
                f'"openstack server show NAME -f value -c id" prints, or the '
                f'name with --project ID.') from None
    found = buried.named(given, project_id)
    if len(found) == 1:
        return found[0]
    raise NoServer(
        f'Project {project_id} has several servers {given!r} in cell0. Give '
        f'the UUID of one: {", ".join(found)}.' if found else
        f'Project {project_id} has no server {given!r} in cell0. --project '
        f'is the ID of the project, which "openstack project show NAME -f '
        f'value -c id" prints.')


def add_format(parser: argparse.ArgumentParser, *others: str) -> None:
    """Add how the answer is shown.

    :param others: formats beside a table and JSON.
    """
    parser.add_argument(
        '--format', choices=('table', 'json', *others), default='table',
        help='How to show it. Default: %(default)s.')
