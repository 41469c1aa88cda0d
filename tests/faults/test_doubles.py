# SPDX-License-Identifier: Apache-2.0

"""An answer is lost, and just after it the API database fails once."""

import dataclasses

from tests.faults import boundaries
from tests.faults import errors
from tests.faults import series
from tests.faults import stories

# What is left without an answer, or does not know whether it was sent.
_LOST = ('call', 'cast')


@dataclasses.dataclass
class Double:
    """Something is lost, and the next thing fails as well.

    :param first: what is lost.
    :param second: what fails after it, and not before.
    """

    first: errors.Error
    second: errors.Error
    times = errors.ONCE

    @property
    def boundary(self):
        """The boundary that the series is about."""
        return self.second.boundary

    @property
    def struck(self):
        """Whether both have happened."""
        return self.second.struck

    @property
    def last(self):
        """Where nova-api met the last of the two."""
        return self.second.last or self.first.last

    def __call__(self, process, boundary, when):
        """Fail if it is the turn of one of them."""
        fault = self.second if self.first.struck else self.first
        return fault(process, boundary, when)

    def __str__(self):
        return f'{self.first}, then {self.second}'


def _is_built(boundary, error):
    """Tell whether a compute builds: what is crossed then is chance."""
    return boundary.kind == 'cast' and error[1] == boundaries.AFTER


class _Watched:
    """Tells what is crossed after a fault, by who has met it."""

    def __init__(self, fault):
        self.crossed = []
        self._fault = fault

    def __call__(self, process, boundary, when):
        if (self._fault.struck and when == boundaries.BEFORE
                and process.name == self._fault.boundary.process):
            self.crossed.append(boundary)
        return self._fault(process, boundary, when)


class DoubleTest(errors.ErrorSeries):

    def boundaries_of(self, story):
        """Extend: remember the story."""
        self._story = story
        return super().boundaries_of(story)

    def faults_of(self, crossed):
        """Replace: each loss, with each failure that can follow it."""
        losses = [
            (boundary, *error)
            for boundary in crossed if boundary.kind in _LOST
            for error in errors.of(boundary)
            if error[2] == errors.ONCE and not _is_built(boundary, error)]
        return [Double(errors.Error(*loss), second) for loss in losses
                for second in self._seconds(errors.Error(*loss))]

    def _seconds(self, first):
        watched = _Watched(first)
        server = self.bury_one(self._story)
        try:
            self.run_rebuild(server, watched)
        finally:
            self.forget(server)
        return [
            errors.Error(boundary, *error) for boundary in watched.crossed
            if boundary.kind in ('begin', 'commit') and boundary.what == 'api'
            for error in errors.of(boundary) if error[2] == errors.ONCE]

    def test_with_capacity_it_is_complete(self):
        self.play_all(stories.CAPACITY, series.DELETE, series.RECOVER)
