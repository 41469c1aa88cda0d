# SPDX-License-Identifier: Apache-2.0

"""Tables of results, for the terminal and for the documentation."""

import csv
import pathlib

from rich import table

ROOT = pathlib.Path(__file__).resolve().parent.parent
# Of tables that are too long for the documentation.
LONG = ROOT / '.state/tables'


def show(out, header, rows):
    """Print a table."""
    shown = table.Table(*header)
    for row in rows:
        shown.add_row(*map(str, row))
    out.print(shown)


def text(source, header, rows):
    """Return a table as reST that names the command it is written by."""
    written = f'.. Written by {source} --write-docs.\n\n'
    written += '.. list-table::\n   :header-rows: 1\n\n'
    for row in (header, *rows):
        for number, cell in enumerate(row):
            written += f'   {" " if number else "*"} - {cell}'.rstrip() + '\n'
    return written


def write(out, path, source, header, rows):
    """Write a table into the documentation.

    :param path: of its file.
    :param source: the command that writes it.
    """
    path.write_text(text(source, header, rows), encoding='utf-8')
    out.print(f'written: {path.relative_to(ROOT)}')


def keep(out, name, header, rows):
    """Write a table that the documentation has in a shorter form."""
    LONG.mkdir(parents=True, exist_ok=True)
    path = LONG / f'{name}.csv'
    with path.open('w', encoding='utf-8', newline='') as file:
        csv.writer(file, lineterminator='\n').writerows([header, *rows])
    out.print(f'written: {path.relative_to(ROOT)}')
