# SPDX-License-Identifier: Apache-2.0

"""What the demonstration shows, on a terminal or in a file."""

import json
import re
import shutil

from rich import box
from rich import console
from rich import live
from rich import padding
from rich import spinner
from rich import table
from rich import text

# Wider lines are hard to read, narrower ones break identifiers.
_WIDEST, _NARROWEST = 100, 60
_IDENTIFIER = re.compile(
    r'\b([0-9a-f]{8})-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b')
_HOLDS, _FAILS = ('✓', 'bold green'), ('✗', 'bold red')


class ClaimFailed(Exception):
    """What the demonstration says is not what Nova did."""


class Screen:
    """Prints the story and checks its claims."""

    def __init__(self, stream):
        width = shutil.get_terminal_size((_WIDEST, 24)).columns
        self._console = console.Console(
            file=stream, width=max(_NARROWEST, min(width, _WIDEST)),
            highlight=False, markup=False, emoji=False)
        self._busy = live.Live()
        self._steps = 0
        self.claims = 0

    def title(self, title, subtitle):
        """Begin."""
        self._line((title, 'bold'))
        self._line((subtitle, 'dim'))

    def busy(self, message):
        """Show, on a terminal, what takes a while: until the next line."""
        # Whoever prints meanwhile must not come through.
        self._busy = live.Live(
            spinner.Spinner('dots', message, style='cyan'),
            console=self._console, transient=True,
            redirect_stdout=False, redirect_stderr=False)
        self._busy.start()

    def legend(self, sentence):
        """Tell that it begins, and what the signs mean."""
        self._line((sentence, 'dim'))
        self._line()
        self._line(('→', 'cyan'), (
            ' asked, by whom and at which OpenStack-API-Version   ', 'dim'),
            ('←', 'cyan'), (' answered   ', 'dim'),
            ('✓', 'green'), (' checked', 'dim'))

    def step(self, title, introduction):
        """Begin a step of the story."""
        self._steps += 1
        self._line()
        self._line((f'{self._steps:>2}  ', 'bold cyan'), (title, 'bold'))
        self._indented(text.Text(introduction))

    def asked(self, method, path, version, body=None, who='user'):
        """Show a request."""
        grid = table.Table.grid(expand=True, padding=(0, 1))
        grid.add_column(ratio=1)
        grid.add_column(justify='right', no_wrap=True)
        grid.add_row(text.Text.assemble(
            ('→ ', 'cyan'), (f'{method} ', 'bold'), _short(f'/v2.1{path}')),
            text.Text(f'{who}, {version}', 'dim'))
        self._line()
        self._indented(grid, expand=True)
        if body is not None:
            self._indented(text.Text(_short(json.dumps(body)), 'dim'), 6)

    def answered(self, status, /, **fields):
        """Show an answer, or the part of it that matters."""
        grid = table.Table.grid(padding=(0, 2))
        code = text.Text.assemble(('← ', 'cyan'), (
            str(status), 'bold green' if status < 300 else 'bold yellow'))
        for name, value in fields.items():
            grid.add_row(code, text.Text(name, 'dim'), value)
            code = ''
        self._indented(grid)

    def claim(self, claim, expected, found):
        """Check a claim and show that it holds.

        :raises ClaimFailed: if it does not.
        """
        self._check(claim, expected, found)
        self._indented(text.Text.assemble(_HOLDS, ' ', claim))

    def compare(self, heads, rows):
        """Show rows of (name, expected, found), and check each.

        :raises ClaimFailed: if one is not as expected.
        """
        self.table([*heads, ''], [
            (*row, text.Text(*(_HOLDS if row[1] == row[2] else _FAILS)))
            for row in rows])
        for name, expected, found in rows:
            self._check(f'its {name}', expected, found)

    def table(self, heads, rows):
        """Show rows of text."""
        shown = table.Table(
            box=box.SIMPLE_HEAD, padding=(0, 2, 0, 0), show_edge=False,
            pad_edge=False, header_style='dim')
        for head in heads:
            shown.add_column(head, overflow='fold')
        for row in rows:
            shown.add_row(*(
                cell if isinstance(cell, text.Text) else _short(str(cell))
                for cell in row))
        self._line()
        self._indented(shown)
        self._line()

    def verdict(self, verdict, holds=True):
        """End, with one line."""
        self._line()
        sign, style = _HOLDS if holds else _FAILS
        self._line((f'{sign} {verdict}', style), soft_wrap=True)

    def log(self, title, lines):
        """Show lines of a log as they are."""
        self._line((title, 'dim'))
        for line in lines:
            self._line((f'  {line}', 'dim'), soft_wrap=True)

    def _check(self, claim, expected, found):
        if expected != found:
            raise ClaimFailed(
                f'{claim}: expected {expected!r}, found {found!r}')
        self.claims += 1

    def _line(self, *parts, **options):
        self._print(text.Text.assemble(*parts), **options)

    def _indented(self, content, indent=4, expand=False):
        self._print(padding.Padding(content, (0, 0, 0, indent), expand=expand))

    def _print(self, content, **options):
        self._busy.stop()
        self._console.print(content, **options)


def _short(content):
    """Return text in which identifiers are cut so that lines fit."""
    return _IDENTIFIER.sub(r'\1…', content)
