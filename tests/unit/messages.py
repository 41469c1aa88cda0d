# SPDX-License-Identifier: Apache-2.0

"""What the package says, read from its source, and where it is documented."""

import ast
import pathlib
import re

ROOT = pathlib.Path(__file__).parents[2]

# Functions and exceptions whose text is the answer to a request, or becomes
# the fault of a server.
_TOLD = {'conflict', '_failed', 'HTTPBadRequest', 'HTTPConflict',
         'HTTPForbidden', 'ImageUnacceptable', 'InvalidVolume',
         'CertificateValidationFailed', 'Unreadable'}

# What is logged, or printed by a service that starts.
_LOGGED = {'info', 'warning', 'error', 'exception', 'debug'}
_PRINTED = {'_warn', 'SystemExit', 'PatchMismatch'}

_PLACEHOLDER = re.compile(r'%(?:\(\w+\))?[sd]')


def told():
    """Return the messages for users."""
    return sorted({*_messages(_is_told), *_formats()})


def logged():
    """Return the messages for operators."""
    return sorted(_messages(_is_logged))


def is_in(message, page):
    """Tell whether a page has a message, anything for its variable parts.

    :param message: a tuple of its fixed parts.
    :param page: of the documentation, from its root.
    """
    return re.search(
        '.{1,99}?'.join(map(re.escape, message)), _in_one_line(_read(page)))


def warnings(page):
    """Return the warnings of a page, each in one line."""
    return [_in_one_line(found) for found in re.findall(
        r'^\.\. warning::.*\n(?:(?: +.*)?\n)*', _read(page), re.MULTILINE)]


def _read(page):
    return (ROOT / 'doc/source' / page).read_text()


def _in_one_line(text):
    return ' '.join(text.split())


def _messages(is_wanted):
    for node in _nodes():
        if isinstance(node, ast.Call) and is_wanted(node.func):
            values = [*node.args, *(word.value for word in node.keywords)]
            for value in values:
                yield from _texts(value)


def _formats():
    for node in _nodes():
        if isinstance(node, ast.Assign) and any(
                getattr(target, 'id', None) == 'msg_fmt'
                for target in node.targets):
            yield from _texts(node.value)


def _nodes():
    for path in sorted((ROOT / 'cell0_rebuild').rglob('*.py')):
        yield from ast.walk(ast.parse(path.read_text()))


def _is_told(function):
    return _name(function) in _TOLD


def _is_logged(function):
    if isinstance(function, ast.Attribute) and function.attr in _LOGGED:
        return True
    return _name(function) in _PRINTED


def _name(function):
    return getattr(function, 'attr', getattr(function, 'id', None))


def _texts(node):
    """Return the fixed parts of each text that is written in an argument."""
    if isinstance(node, ast.List):
        for item in node.elts:
            yield from _texts(item)
        return
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        parts = _PLACEHOLDER.split(node.value)
    elif isinstance(node, ast.JoinedStr):
        parts = [getattr(value, 'value', None) for value in node.values]
        parts = [part if isinstance(part, str) else '' for part in parts]
    else:
        return
    found = tuple(' '.join(part.split()) for part in parts if part.strip())
    if any(' ' in part for part in found):
        yield found
