# SPDX-License-Identifier: Apache-2.0

"""What is stored of a server, and its versions.

What is retained (:mod:`retained`) is stored in the blob of the RequestSpec,
and in it, as long as an attempt lasts, its :mod:`entry <move.journal>`. Each
is a dictionary with a ``version``, "MAJOR.MINOR". Several versions of the
package may read and write the same server, in a rolling upgrade or after a
downgrade.

A newer minor version has more entries, and a reader can ignore them. A package
that does not know an entry leaves it unchanged, with its version. Where such
an entry is missing, or one that is stored later than the rest, a package takes
the default, which is what held before. What lacks any other cannot be read.

A newer major version has entries that a reader must not ignore. A package that
does not know the major version reads and changes nothing, and reports it. A
package reads all older versions.
"""

from __future__ import annotations

import re
import typing as ty

from cell0_rebuild import exceptions

_VERSION = re.compile(r'([0-9]{1,9})\.[0-9]{1,9}')

# An entry without which nothing can be done.
NEEDED: ty.Any = object()

TEXT = (str,)
TEXT_OR_NONE = (str, type(None))


def entries(values: ty.Any, newest: str) -> dict[str, ty.Any]:
    """Return what is stored, if this package can read it.

    :param newest: the version that this package stores.
    :raises Unreadable: otherwise.
    """
    if not isinstance(values, dict):
        raise exceptions.Unreadable('it is damaged')
    version = entry(values, 'version', TEXT, NEEDED)
    found = _VERSION.fullmatch(version)
    if found is None:
        raise exceptions.Unreadable('its version is damaged')
    if int(found[1]) > int(newest.split('.')[0]):
        raise exceptions.Unreadable(
            f'it is of version {version}, and this cell0-rebuild reads no '
            f'newer one than {newest}')
    return values


def entry(
    values: dict[str, ty.Any], name: str, kinds: tuple[type, ...],
    default: ty.Any,
) -> ty.Any:
    """Return an entry of what is stored.

    :param kinds: the types that it may have.
    :param default: its value if it is missing, or NEEDED.
    :raises Unreadable: if it has another type, or is missing and needed.
    """
    value = values.get(name, default)
    if value is NEEDED:
        raise exceptions.Unreadable(f'it has no entry {name}')
    if not isinstance(value, kinds):
        raise damaged(name)
    return value


def texts(values: dict[str, ty.Any], name: str) -> list[str]:
    """Return an entry that is a list of texts, empty if it is missing.

    :raises Unreadable: if it is something else.
    """
    found: list[str] = entry(values, name, (list,), [])
    if not all(isinstance(item, str) for item in found):
        raise damaged(name)
    return found


def damaged(name: str) -> Exception:
    """Return the error for an entry with a wrong value."""
    return exceptions.Unreadable(f'its entry {name} is damaged')
