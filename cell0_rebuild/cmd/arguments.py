# SPDX-License-Identifier: Apache-2.0

"""Arguments that several commands have."""

from __future__ import annotations

import argparse
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


def add_server(parser: argparse.ArgumentParser) -> None:
    """Add the server that a command is about."""
    parser.add_argument(
        'server', type=server, metavar='SERVER',
        help='The UUID of the server.')


def add_format(parser: argparse.ArgumentParser, *others: str) -> None:
    """Add how the answer is shown.

    :param others: formats beside a table and JSON.
    """
    parser.add_argument(
        '--format', choices=('table', 'json', *others), default='table',
        help='How to show it. Default: %(default)s.')
