# SPDX-License-Identifier: Apache-2.0

"""The stages of an attempt, and the steps between them.

What a process knows of an attempt that it works on. What is found of one
whose process has died is a state of :mod:`recovery.diagnosis`.
"""

from __future__ import annotations

import enum
import typing as ty


class Stage(enum.Enum):
    """How far a rebuild of a buried server has come."""

    IN_CELL0 = 'in cell0'
    ASKED = 'asked for'
    TAKEN = 'taken'
    MAYBE_HANDED_OVER = 'maybe handed over'
    HANDED_OVER = 'handed over'
    MAYBE_MAPPED_BACK = 'maybe mapped back'
    MAPPED_BACK = 'mapped back'
    OUT_OF_CELL = 'out of its cell'
    BUILT = 'built'

    @property
    def is_handed_over(self) -> bool:
        """Whether the build request has ended in favour of a real cell."""
        return self not in (Stage.IN_CELL0, Stage.ASKED, Stage.TAKEN)

    @property
    def is_mapped_back(self) -> bool:
        """Whether the mapping points at cell0 again."""
        return self in (Stage.MAPPED_BACK, Stage.OUT_OF_CELL)


class Step(ty.NamedTuple):
    """A step from one stage to another.

    :param who: takes it.
    :param function: which does it, in :mod:`move`.
    :param how: it is done.
    :param left: the states that ``recover`` finds if the process dies after
        it; none if nothing is left to be mended.
    """

    old: Stage
    new: Stage
    who: str
    function: str
    how: str
    left: tuple[str, ...]


_API, _CONDUCTOR = 'nova-api', 'nova-conductor'
_WHOEVER_BURIES = 'nova-conductor, recover'

STEPS = (
    Step(Stage.IN_CELL0, Stage.ASKED, _API, 'out_of_cell0.ask',
         'A build request is made, the mapping leaves cell0; then the row in '
         'cell0 is hidden.', ('on its way',)),
    Step(Stage.ASKED, Stage.TAKEN, f'{_CONDUCTOR}, {_API}', 'attempt.begin',
         'The record names who has it. nova-api takes it back if no conductor '
         'has answered.', ('on its way',)),
    Step(Stage.ASKED, Stage.TAKEN, 'recover', 'api_db.seize',
         'The record gets another generation: no conductor can take it.',
         ('on its way',)),
    Step(Stage.TAKEN, Stage.IN_CELL0, f'{_WHOEVER_BURIES}, {_API}',
         'reburial.bury_again',
         'The row in cell0 is shown, the build request ends.', ('leftovers',)),
    Step(Stage.TAKEN, Stage.HANDED_OVER, _CONDUCTOR, 'attempt.hand_over',
         'The server is mapped to a real cell, the build request ends.',
         ('not built',)),
    Step(Stage.TAKEN, Stage.MAYBE_HANDED_OVER, _CONDUCTOR,
         'attempt.hand_over',
         'The database went away when the build request ended.',
         ('on its way', 'not built')),
    Step(Stage.MAYBE_HANDED_OVER, Stage.TAKEN, _WHOEVER_BURIES,
         'reburial.bury_again', 'The build request is still there.',
         ('on its way',)),
    Step(Stage.HANDED_OVER, Stage.BUILT, _WHOEVER_BURIES, 'attempt.finish',
         'A compute has the server: the row in cell0 goes, and what was '
         'retained.', ()),
    Step(Stage.MAYBE_HANDED_OVER, Stage.MAYBE_MAPPED_BACK, _WHOEVER_BURIES,
         'reburial.bury_again', 'The mapping is about to change.',
         ('not built', 'hidden')),
    Step(Stage.HANDED_OVER, Stage.MAYBE_MAPPED_BACK, _WHOEVER_BURIES,
         'reburial.bury_again', 'The mapping is about to change.',
         ('not built', 'hidden')),
    Step(Stage.MAYBE_MAPPED_BACK, Stage.MAPPED_BACK, _WHOEVER_BURIES,
         'reburial.bury_again', 'The mapping points at cell0.', ('hidden',)),
    Step(Stage.MAPPED_BACK, Stage.HANDED_OVER, _WHOEVER_BURIES,
         'reburial.bury_again',
         'A compute has the server after all, or cell0 has no row of it: the '
         'mapping points at its cell.',
         ('built',)),
    Step(Stage.MAPPED_BACK, Stage.OUT_OF_CELL, _WHOEVER_BURIES,
         'reburial.bury_again', 'The row in the real cell is gone.',
         ('hidden',)),
    Step(Stage.OUT_OF_CELL, Stage.IN_CELL0, _WHOEVER_BURIES,
         'reburial.bury_again', 'The row in cell0 is shown.', ('leftovers',)),
)

_ALLOWED = {(step.old, step.new) for step in STEPS}


def is_step(old: Stage, new: Stage) -> bool:
    """Tell whether one stage may follow another."""
    return old is new or (old, new) in _ALLOWED
