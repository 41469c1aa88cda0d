# SPDX-License-Identifier: Apache-2.0

"""The directive ``nova-internals``: what the package uses of Nova.

It is read from the package when the documentation is built.
"""

import collections.abc
import inspect
import typing as ty

from docutils import nodes
from docutils import statemachine
from sphinx import application
from sphinx.util import docutils

from cell0_rebuild import activation
from cell0_rebuild import nova_internals
from cell0_rebuild import objects_ext
from cell0_rebuild import patching

_TABLE = ['.. list-table::', '   :header-rows: 1', '   :widths: 55 45', '']


def lines() -> collections.abc.Iterator[str]:
    """Return the reStructuredText of the directive."""
    for extension in sorted({name for names in activation.EXTENSIONS.values()
                             for name in names}):
        services = ', '.join(
            service for service, names in activation.EXTENSIONS.items()
            if extension in names)
        changes = activation.load((extension,)).changes
        yield from _section(
            f'Extension ``{extension}``, in {services}: changed',
            [row for change in changes for row in _changed(change)])
        yield from _section(
            f'Extension ``{extension}``, in {services}: called or overridden',
            [row for change in changes for row in _relied_on(change)])
    yield from _section(
        '``cell0-rebuild-manage``: called',
        [_row(target) for group in (
            nova_internals.MOVES, nova_internals.ALLOCATIONS,
            nova_internals.LEFTOVERS, nova_internals.RECOVERY,
            nova_internals.DEMANDS, nova_internals.PROBES,
            nova_internals.SHARES, nova_internals.FENCE)
         for target in group])
    yield from _section(
        '``cell0-rebuild-wait``, ``cell0-rebuild-manage wait``: called',
        [_row(target) for target in nova_internals.WAITING])
    yield from _section(
        '``cell0-rebuild-wait``, ``cell0-rebuild-manage``: called at start',
        [_row(target) for target in nova_internals.COMMANDS])


def _section(
    title: str, rows: list[list[str]]
) -> collections.abc.Iterator[str]:
    if not rows:
        return
    yield from ['', title, '-' * len(title), '', *_TABLE]
    for cells in (['Target', 'Why'], *rows):
        for number, cell in enumerate(cells):
            yield f'   {" " if number else "*"} - {cell}'


def _changed(change: ty.Any) -> collections.abc.Iterator[list[str]]:
    if isinstance(change, patching.Patch):
        yield _row(change.target)
    elif isinstance(change, patching.ItemPatch):
        yield [f'``{change}``', change.item.reason]
    elif isinstance(change, objects_ext.Registration):
        yield [f'``{change}``', (inspect.getdoc(change) or '').rstrip('.')]


def _relied_on(change: ty.Any) -> collections.abc.Iterator[list[str]]:
    if isinstance(change, objects_ext.Registration):
        yield from map(_row, nova_internals.REQUEST_SPEC)
    elif type(change) is patching.Reliance:
        yield _row(change.target)


def _row(target: patching.Target) -> list[str]:
    forms = [f'``{target}({target.signature})``']
    forms += [
        f'in {form.releases}: ``{form.name or target.name}'
        f'({form.signature or target.signature})``'
        for form in target.others]
    if target.absent:
        forms.append(f'not in {target.absent}')
    return ['; '.join(forms), target.reason]


class NovaInternals(docutils.SphinxDirective):
    """Puts the tables where the directive is."""

    def run(self) -> list[nodes.Node]:
        text = statemachine.StringList(
            list(lines()), source=nova_internals.__file__)
        section = nodes.section()
        section.document = self.state.document
        self.state.nested_parse(text, self.content_offset, section, True)
        self.env.note_dependency(nova_internals.__file__)
        return section.children


def setup(app: application.Sphinx) -> dict[str, ty.Any]:
    """Register the directive."""
    app.add_directive('nova-internals', NovaInternals)
    return {'parallel_read_safe': True, 'parallel_write_safe': True}
