# SPDX-License-Identifier: Apache-2.0

"""What is stored of a server, and its versions.

What is kept (:mod:`retained`) is stored in the blob of the RequestSpec, a
:mod:`record <move.attempt_record>` on the build request and, after the
hand-over, with what is kept. Each is a dictionary with a ``version``,
"MAJOR.MINOR".
Several versions of the package may read and write the same server, in a
rolling upgrade or after a downgrade.

A newer minor version has more entries, which can be ignored. Who does not
know an entry leaves it where it is, with the version that it came with. Who
misses one takes it for what it was before there was one.

A newer major version has what cannot be ignored. Who does not know it reads
and changes nothing, and says so; older ones are read.

What has no version is 1.0: so it was stored by the package of before there
was one. That needs every entry of 1.0 and reads no version, so all of 1.0 is
stored for as long as the major version is 1.
"""

from __future__ import annotations

import re
import typing as ty

from cell0_rebuild import exceptions

FIRST = '1.0'
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
    version = entry(values, 'version', TEXT, FIRST)
    found = _VERSION.fullmatch(version)
    if found is None:
        raise exceptions.Unreadable('its version is damaged')
    if int(found[1]) > int(newest.split('.')[0]):
        raise exceptions.Unreadable(
            f'it is of version {version}, and this cell0-rebuild reads no '
            f'newer one than {newest}')
    return values


def newest(*versions: str) -> str:
    """Return the newest of some versions."""
    return max(versions, key=lambda version: [
        int(part) for part in version.split('.')])


def entry(
    values: dict[str, ty.Any], name: str, kinds: tuple[type, ...],
    default: ty.Any,
) -> ty.Any:
    """Return an entry of what is stored.

    :param kinds: what it may be.
    :param default: what it is if it is missing, or NEEDED.
    :raises Unreadable: if it is something else, or missing and needed.
    """
    value = values.get(name, default)
    if value is NEEDED:
        raise exceptions.Unreadable(f'it has no entry {name}')
    if not isinstance(value, kinds):
        raise damaged(name)
    return value


def damaged(name: str) -> Exception:
    """Return what is raised for an entry that is not what it should be."""
    return exceptions.Unreadable(f'its entry {name} is damaged')
