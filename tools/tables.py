# SPDX-License-Identifier: Apache-2.0

"""Tables of results, for the terminal and for the documentation."""

import csv
import pathlib
import subprocess
import sys

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


def report(out, wrong, header, rows, crashes):
    """Print what went wrong, a table, and what crashed."""
    for line in wrong:
        out.print(line, markup=False)
    show(out, header, rows)
    for output in crashes:
        out.print(output, markup=False)


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


def tell(out, found, made, docs, source):
    """Print tables of results.

    :param made: functions that take the results and yield a header and rows.
    :param docs: the folder of the documentation to write them into, or None.
    :param source: the command that does.
    """
    for table_of in made:
        header, *rows = table_of(found)
        out.print(f'\n{table_of.__doc__}', style='bold')
        show(out, header, rows)
        if docs:
            write(out, docs / f'{table_of.__name__}-table.rst', source,
                  header, rows)


def plot(name, results, path):
    """Write a plot of a file of results."""
    # What draws it is in no environment that a test needs.
    subprocess.run(
        [pathlib.Path(sys.executable).parent / 'uv', 'run', '--quiet',
         '--no-project', '--with-requirements',
         ROOT / 'bench-requirements.txt', 'python', ROOT / 'tools/plots.py',
         name, results, path], check=True)


def keep(out, name, header, rows):
    """Write a table that the documentation has in a shorter form."""
    LONG.mkdir(parents=True, exist_ok=True)
    path = LONG / f'{name}.csv'
    with path.open('w', encoding='utf-8', newline='') as file:
        csv.writer(file, lineterminator='\n').writerows([header, *rows])
    out.print(f'written: {path.relative_to(ROOT)}')
