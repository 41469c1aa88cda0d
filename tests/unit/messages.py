# SPDX-License-Identifier: Apache-2.0

"""What the package says, read from its source, and where it is documented."""

import ast
import functools
import pathlib
import re

ROOT = pathlib.Path(__file__).parents[2]

# Functions and exceptions whose text is the answer to a request, or becomes
# the fault of a server.
_TOLD = {'conflict', '_failed', 'HTTPBadRequest', 'HTTPConflict',
         'HTTPForbidden', 'ImageUnacceptable', 'InvalidVolume',
         'CertificateValidationFailed', 'Unreadable'}

# What else gives an owner a text to read.
_STORED = {*_TOLD, 'Reason', '_Reason', 'InstanceFault', 'Unknown', 'block'}

# What is logged, or printed by a service that starts.
_LOGGED = {'info', 'warning', 'error', 'exception', 'debug'}
_PRINTED = {'_warn', 'SystemExit', 'PatchMismatch'}

_PLACEHOLDER = re.compile(r'%(?:\(\w+\))?[sd]')


def told():
    """Return the messages for users."""
    return sorted({found for tree in _trees() for parts in (
        *_messages(tree, _is_told), *_formats(tree))
        for found in _fixed(parts)})


def logged():
    """Return the messages for operators."""
    return sorted({found for tree in _trees()
                   for parts in _messages(tree, _is_logged)
                   for found in _fixed(parts)})


def stored():
    """Return what owners are told that Nova may store.

    A refusal is, when the waiting service is refused. Each is the list of the
    parts between names and values. A reason is part of the text of an
    exception of the same module, if there is one.
    """
    for tree in _trees():
        formats = list(_formats(tree))
        for parts in _messages(tree, _is_stored):
            is_reason = ''.join(parts).lstrip('. ')[:1].islower() or (
                parts[0] + parts[-1][:1] == '.')
            yield _put_into(formats[0], parts) if (
                is_reason and formats) else parts
        yield from formats


def _put_into(text, reason):
    return [*text[:-2], *_around(text[-2], reason, text[-1])]


def _around(before, parts, after):
    parts = [before + parts[0], *parts[1:]]
    return [*parts[:-1], parts[-1] + after]


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


def _messages(tree, is_wanted):
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and is_wanted(node.func):
            values = [*node.args, *(word.value for word in node.keywords)]
            for value in values:
                yield from _texts(_constants().get(_name(value), value))


@functools.cache
def _constants():
    """Return the texts that have a name, in whatever module."""
    return {target.id: node.value for tree in _trees() for node in tree.body
            if isinstance(node, ast.Assign) for target in node.targets
            if isinstance(target, ast.Name)}


def _formats(tree):
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign) and any(
                getattr(target, 'id', None) == 'msg_fmt'
                for target in node.targets):
            yield from _texts(node.value)


@functools.cache
def _trees():
    return [ast.parse(path.read_text()) for path in sorted(
        (ROOT / 'cell0_rebuild').rglob('*.py'))]


def _is_told(function):
    return _name(function) in _TOLD


def _is_stored(function):
    return _name(function) in _STORED


def _is_logged(function):
    if isinstance(function, ast.Attribute) and function.attr in _LOGGED:
        return True
    return _name(function) in _PRINTED


def _name(function):
    return getattr(function, 'attr', getattr(function, 'id', None))


def _texts(node):
    """Return the parts of each text that is written in an argument."""
    if isinstance(node, ast.List):
        for item in node.elts:
            yield from _texts(item)
        return
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        parts = _PLACEHOLDER.split(node.value)
    elif isinstance(node, ast.JoinedStr):
        parts = ['']
        for value in node.values:
            if isinstance(value, ast.Constant):
                parts[-1] += value.value
            else:
                parts.append('')
    else:
        return
    yield parts


def _fixed(parts):
    """Yield the fixed parts of a text, if it is one."""
    found = tuple(' '.join(part.split()) for part in parts if part.strip())
    if any(' ' in part for part in found):
        yield found
