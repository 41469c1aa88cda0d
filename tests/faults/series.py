# SPDX-License-Identifier: Apache-2.0

"""Faults, and the runs that meet each of them at every boundary."""

import collections
import dataclasses
import itertools
import os
import pathlib
import random
import re

from tests.faults import boundaries
from tests.faults import owners
from tests.faults import remains
from tests.faults import stories
from tests.functional.support import recovering
from tests import result_log

# How many cases a quick run takes of each series; all if it is 0.
SAMPLE = int(os.environ.get('CELL0_REBUILD_FAULTS_SAMPLE', '10'))
SEED = int(os.environ.get('CELL0_REBUILD_FAULTS_SEED', '1'))
# Which of them; a regular expression.
ONLY = os.environ.get('CELL0_REBUILD_FAULTS_ONLY', '')
# Where each case is written as a line of JSON, for tools/run_series.py; what
# is there is not run again.
LOG = os.environ.get('CELL0_REBUILD_FAULTS_LOG')

DELETE, RECOVER, ELSEWHERE = 'delete', 'recover', 'elsewhere'

# What every rebuild crosses: who does not see it is blind to more.
_ALWAYS_CROSSED = {
    (boundaries.API, 'commit'), (boundaries.API, 'ping'),
    (boundaries.API, 'rebuild_instance_in_cell0'),
    (boundaries.CONDUCTOR, 'commit'), (boundaries.CONDUCTOR, 'placement'),
    (boundaries.CONDUCTOR, 'select_destinations')}


@dataclasses.dataclass
class Crash:
    """Kills a process just before or just after one boundary."""

    boundary: boundaries.Boundary
    when: str
    struck: bool = False

    def __call__(self, process, boundary, when):
        """Strike if it is the one."""
        if (boundary, when) == (self.boundary, self.when):
            self.struck = True
            process.dead = True
            raise boundaries.Killed

    def __str__(self):
        return f'killed {self.when} {self.boundary}'


def check_seen(test, crossed):
    """Fail if a run has not crossed what every rebuild crosses."""
    test.assertEqual(set(), _ALWAYS_CROSSED - {
        (boundary.process, name) for boundary in crossed
        for name in (boundary.kind, boundary.what)})


def check_databases_seen(test, crossed):
    """Fail if a burial from a cell has not committed in each database."""
    test.assertLessEqual({
        ('commit', 'api'), ('commit', 'cell0'), ('commit', 'cell1')}, {
        (boundary.kind, boundary.what) for boundary in crossed})


def chosen(faults, endings):
    """Return (fault, ending) of each case that is to be run, and their total.

    :param endings: of those above, in turn.
    """
    if not faults:
        raise AssertionError('there is no boundary for a fault')
    cases = [(fault, ending) for fault, ending in zip(
        faults, itertools.cycle(endings)) if re.search(ONLY, str(fault))]
    total = len(cases)
    if total > SAMPLE > 0:
        cases = random.Random(SEED).sample(cases, SAMPLE)
    return cases, total


def left(test, story, cases):
    """Yield the cases that are not in the log yet."""
    log(test, total=len(cases), story=story, planned=collections.Counter(
        fault.boundary.process for fault, _ in cases))
    done = _logged()
    for fault, ending in cases:
        if (str(fault), ending) not in done:
            yield fault, ending


def _logged():
    if not LOG:
        return set()
    return {(line['fault'], line['ending'])
            for line in result_log.lines(pathlib.Path(LOG)) if 'fault' in line}


def log(test, **line):
    """Write a line for tools/run_series.py."""
    if LOG:
        result_log.write(LOG, **line, test=test.id())


def log_run(test, story, fault, ending, problem, cleared):
    """Write how one case ended."""
    log(test, story=story, process=fault.boundary.process,
        boundary=str(fault.boundary), fault=str(fault), ending=ending,
        lost=isinstance(problem, stories.Lost),
        problem=problem and str(problem), cleared=cleared)


def _is_left_by_nova(name):
    return remains.is_orphan(name) or name == remains.ACCELERATORS


class Series(stories.Deployment):
    """Runs of one story, each with a fault, and what became of the server."""

    def setUp(self):
        super().setUp()
        self.owner = self.useFixture(owners.Owner(self.api))

    def faults_of(self, crossed):
        """Return the faults to try, of the boundaries of a run without."""
        return [Crash(boundary, when) for boundary in crossed
                for when in (boundaries.BEFORE, boundaries.AFTER)
                # Nobody can see that a transaction began.
                if boundary.kind != 'begin']

    def play_all(
        self, story, *endings,
        processes=(boundaries.API, boundaries.CONDUCTOR), kinds=None,
    ):
        """Let each fault happen, and fail if the server suffers from any.

        :param endings: DELETE, RECOVER or ELSEWHERE, or several in turn.
        :param kinds: of the boundaries; all if it is None.
        """
        crossed = [boundary for boundary in self.boundaries_of(story)
                   if boundary.process in processes
                   and (kinds is None or boundary.kind in kinds)]
        self.assertEqual(
            set(), {*(kinds or ())} - {boundary.kind for boundary in crossed})
        cases, total = chosen(self.faults_of(crossed), endings)
        problems = []
        for fault, ending in left(self, story, cases):
            self.cleared = False
            problem = self._play(story, ending, fault)
            log_run(self, story, fault, ending, problem, self.cleared)
            if problem:
                problems.append(f'{fault}: {problem}')
        self.assertEqual(
            [], problems, f'{len(cases)} of {total} faults, seed {SEED}')

    def boundaries_of(self, story):
        """Return the boundaries that a rebuild without a fault crosses."""
        # What is cached is asked for only by the first.
        for _ in range(2):
            server = self.bury_one(story)
            run, answer = self.run_rebuild(server)
            self.assertEqual(202, answer.status_code)
            self._finish(server)
        check_seen(self, run.crossed)
        self._check_heard(self.bury_one(story))
        return run.crossed

    def _check_heard(self, server):
        """Fail if nothing of what the owner changes is accepted."""
        self.owner.begin()
        self.owner.update(server)
        self.assertNotEqual({}, self.owner.accepted)
        self.assertTrue(self.owner.keeps)
        self.check_updated(server, self.owner)
        self._finish(server)
        self.owner.begin()

    def _play(self, story, ending, fault):
        """Return what is wrong with the server after a fault, or None."""
        server = self.bury_one(story)
        self.owner.begin()
        try:
            run, answer = self.run_rebuild(server, fault)
            if not fault.struck:
                raise stories.Problem('the boundary was not reached')
            self.check(server, fault, run, answer)
            getattr(self, f'_then_{ending}')(server)
        except stories.Problem as problem:
            return problem
        finally:
            self.forget(server)
        return None

    def check(self, server, fault, run, answer):
        """Check what everybody can see at once."""
        self.check_shown(server)

    def _then_delete(self, server):
        self.owner.update(server)
        self.delete(server)
        self._check_kept(server)
        left = self.check_gone(server, _is_left_by_nova)
        if left - {remains.ACCELERATORS}:
            # The hidden row of a server that has reached its cell: no
            # statement of Nova's delete would have to know of it. Or what a
            # conductor that has died would have deleted last.
            self.recover(server)
            self.cleared = True
            self.check_gone(server, remains.ACCELERATORS.__eq__)

    def _then_recover(self, server):
        self.owner.update(server)
        self.recover(server)
        self.check_updated(server, self.owner)
        if self.check_shown(server) != 'ACTIVE':
            self.wait_for(server, 'ERROR')
            self.have_capacity(True)
            _, answer = self.run_rebuild(server)
            if answer.status_code != 202:
                raise stories.Problem(
                    f'a second rebuild answers {answer.text}')
            if server['request']:
                # The new image says it, as in a rebuild by Nova.
                self.owner.accepted.pop('OS-DCF:diskConfig', None)
        self.check_active(server)
        self.check_complete(server)
        self.check_updated(server, self.owner)
        self._finish(server)

    def recover(self, server):
        """Bring it back as an operator does, who does not know of it."""
        code, found = recovering.recover()
        if code:
            raise stories.Lost(f'recover ends with {code}: {found}')

    def _finish(self, server):
        self.delete(server)
        self.check_gone(server)
        self._check_kept(server)

    def _check_kept(self, server):
        if self.owner.keeps and server['volume'] in self.deleted_volumes:
            raise stories.Lost('the volume that was to stay is deleted')
