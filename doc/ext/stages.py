# SPDX-License-Identifier: Apache-2.0

"""The directive ``move-stages``: the steps of an attempt.

It is read from the package when the documentation is built.
"""

import collections.abc
import typing as ty

from docutils import nodes
from docutils import statemachine
from sphinx import application
from sphinx.util import docutils

from cell0_rebuild.move import stage

_HEADER = ('From', 'To', 'Taken by', 'How', 'Found if it dies then')


def lines() -> collections.abc.Iterator[str]:
    """Return the reStructuredText of the directive."""
    yield from ['.. list-table::', '   :header-rows: 1', '']
    for cells in (_HEADER, *map(_row, stage.STEPS)):
        for number, cell in enumerate(cells):
            yield f'   {" " if number else "*"} - {cell}'


def _row(step: stage.Step) -> tuple[str, ...]:
    return (step.old.value, step.new.value, step.who,
            f'``{step.function}``: {step.how}',
            ' or '.join(step.left) or 'nothing')


class MoveStages(docutils.SphinxDirective):
    """Puts the table where the directive is."""

    def run(self) -> list[nodes.Node]:
        text = statemachine.StringList(list(lines()), source=stage.__file__)
        section = nodes.section()
        section.document = self.state.document
        self.state.nested_parse(text, self.content_offset, section, True)
        self.env.note_dependency(stage.__file__)
        return section.children


def setup(app: application.Sphinx) -> dict[str, ty.Any]:
    """Register the directive."""
    app.add_directive('move-stages', MoveStages)
    return {'parallel_read_safe': True, 'parallel_write_safe': True}
