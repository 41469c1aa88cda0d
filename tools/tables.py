# SPDX-License-Identifier: Apache-2.0

"""Tables of results, for the terminal and for the documentation."""

import datetime
import pathlib
import subprocess
import sys

from rich import console
from rich import table

ROOT = pathlib.Path(__file__).resolve().parent.parent
OUT = console.Console(soft_wrap=True, highlight=False)


def show(header, rows):
    """Print a table."""
    shown = table.Table(*header)
    for row in rows:
        shown.add_row(*map(str, row))
    OUT.print(shown)


def measured():
    """Tell the day, and the last commit that has changed the package.

    :returns: both as text. A change that is in no commit is a ``+``.
    """
    def git(*words):
        return subprocess.run(('git', *words), cwd=ROOT, check=True, text=True,
                              stdout=subprocess.PIPE).stdout.strip()

    changed = git('status', '--porcelain', '--', 'cell0_rebuild')
    return (datetime.date.today().isoformat(),
            git('log', '-1', '--format=%h', '--', 'cell0_rebuild')
            + '+' * bool(changed))


def write(path, source, header, rows):
    """Write a table into the documentation, as reST.

    Its title is the day and the code that it is of.

    :param path: of its file.
    :param source: the command that writes it.
    """
    lines = [f'.. Written by {source} --write-docs.', '',
             '.. list-table:: Measured on {}, of {}'.format(*measured()),
             '   :header-rows: 1', '']
    for row in (header, *rows):
        lines += [f'   {" " if number else "*"} - {cell}'.rstrip()
                  for number, cell in enumerate(row)]
    path.write_text('\n'.join([*lines, '']), encoding='utf-8')
    OUT.print(f'written: {path.relative_to(ROOT)}')


def tell(found, made, docs, source):
    """Print tables of results.

    :param made: functions that take the results and yield a header and rows.
    :param docs: the folder of the documentation to write them into, or None.
    :param source: the command that does.
    """
    for table_of in made:
        header, *rows = table_of(found)
        OUT.print(f'\n{table_of.__doc__}', style='bold')
        show(header, rows)
        if docs:
            write(docs / f'{table_of.__name__}-table.rst', source, header,
                  rows)


def plot(results, path):
    """Write a plot of a file of results.

    matplotlib is in no environment of the tests.
    """
    subprocess.run(
        [pathlib.Path(sys.executable).parent / 'uv', 'tool', 'run', '--quiet',
         '--constraints', ROOT / 'constraints/tools.txt', '--from',
         'matplotlib', 'python', ROOT / 'tools/plots.py', results, path],
        check=True)
