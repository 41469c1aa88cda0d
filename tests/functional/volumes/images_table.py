# SPDX-License-Identifier: Apache-2.0

"""The tables of doc/source/reference/images.rst, cell by cell."""

import csv
import dataclasses
import itertools
import pathlib

FOLDER = pathlib.Path(__file__).resolve().parents[3] / 'doc/source/reference'
# The columns that tell what a request has done, and the rows of a server.
MICROVERSIONS = ('Added microversion', 'From 2.93', 'Below 2.93')
STATES = ('buried', 'launched')
SHOWS, ROOT, NAMES = 'It shows an image', 'Root disk', 'The request names'

# Root disks, as tests make them, and what the page calls several of them.
BROUGHT = 'volume that its image brings'
MADE = ('existing', 'from image', 'from snapshot')
WITH_IMAGE = (*MADE, BROUGHT)
VOLUMES = (*WITH_IMAGE, 'blank volume')
ROOTS = ('local', *VOLUMES)
_SEVERAL = {
    'any': {*ROOTS, 'yes', 'no'},
    'any volume': {*VOLUMES},
    'volume with an image': {*WITH_IMAGE},
    'volume beside its image': {*MADE, 'blank volume'},
}


@dataclasses.dataclass(frozen=True)
class Case:
    """A request for a server.

    :param shows: whether the server shows an image.
    :param root: what its root disk is.
    :param names: which image the request names.
    """

    shows: str
    root: str
    names: str


def cases():
    """Return all that can be, those of one server together."""
    return [
        Case(shows, root, names) for shows, root, names in itertools.product(
            ('yes', 'no'), ROOTS,
            ('none', 'its own', 'that of its volume', 'another'))
        # Nova creates no such server, or no image has that name.
        if not ((shows == 'no' and root in ('local', BROUGHT))
                or (shows == 'no' and names == 'its own')
                or (root not in WITH_IMAGE and names == 'that of its volume'))]


def rows(state):
    """Return the table of servers that are buried or launched."""
    return _read(f'images-{state}.csv')


def outcomes():
    """Return what each outcome means, by its name."""
    return {row['Outcome']: row for row in _read('images-outcomes.csv')}


def matching(state, case):
    """Return the rows for a case."""
    return [row for row in rows(state)
            if _has(row[SHOWS], case.shows) and _has(row[ROOT], case.root)
            and row[NAMES] == case.names]


def _has(text, value):
    return text == value or value in _SEVERAL.get(text, ())


def _read(name):
    with open(FOLDER / name, encoding='utf-8', newline='') as page:
        return list(csv.DictReader(page))
