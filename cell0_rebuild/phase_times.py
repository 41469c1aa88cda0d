# SPDX-License-Identifier: Apache-2.0

"""How long the phases of a rebuild took, for one line of the log."""

from __future__ import annotations

from oslo_utils import timeutils


class Phases:
    """The phases of a rebuild, each with its seconds."""

    def __init__(self) -> None:
        """Begin the first phase."""
        self._watch = timeutils.StopWatch().start()
        self._ended: list[str] = []

    def __str__(self) -> str:
        return ', '.join(self._ended)

    def end(self, name: str) -> None:
        """End a phase and begin the next.

        :param name: of the phase that has ended.
        """
        self._ended.append(f'{name} {self._watch.split().length:.3f} s')
