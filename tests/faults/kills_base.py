# SPDX-License-Identifier: Apache-2.0

"""Real processes die, by SIGKILL, at every boundary of a rebuild."""

import contextlib
import dataclasses
import itertools
import time
import typing

import requests
import testtools

from tests.faults import boundaries
from tests.faults import remains
from tests.faults import series
from tests.faults import stories
from tests.integration import base
from tests.integration import processes
from tests.integration import standins

# So many servers are recovered at a time.
BATCH = 24
# Before and after take turns in having one or the other.
ENDINGS = (series.DELETE, series.RECOVER, series.RECOVER, series.DELETE)
# Nothing happens any more if nothing has happened for so long.
SETTLE = 8
# But for a build, on which a compute is at work. Several of its requests may
# get no answer.
BUILD = 'compute__do_build_and_run_instance'
LONGEST_BUILD = 90
# What may take long where many processes share few processors.
PATIENCE = 120


@dataclasses.dataclass
class Case:
    """One server, and the process that dies while it is rebuilt."""

    fault: series.Crash
    ending: str
    port: str
    server: typing.Optional[str] = None
    cleared: bool = False
    given_up: bool = False
    problem: typing.Any = None


class KillSeries(testtools.TestCase):
    """Runs of one story, each with a kill."""

    cloud = None
    # What changes as long as something becomes of a server.
    settling = ('id', 'status', 'updated', 'OS-EXT-STS:task_state')

    def setUp(self):
        super().setUp()
        self.api = self.cloud.api
        self.do = base.Actions(self.cloud)
        self.cloud.order(None)

    def play_all(self, story, process):
        """Kill the process at each boundary; fail if a server suffers."""
        self._usual = self._usual_remains()
        faults = [
            series.Crash(boundary, when)
            for boundary in self.boundaries_of(story)
            if boundary.process == process
            for when in (boundaries.BEFORE, boundaries.AFTER)]
        cases, total = series.chosen(faults, ENDINGS)
        problems = []
        left = series.left(self, story, cases)
        while batch := list(itertools.islice(left, BATCH)):
            for case in self._play(story, batch):
                series.log_run(self, story, case.fault, case.ending,
                               case.problem, case.cleared)
                if case.problem:
                    problems.append(
                        f'{case.fault}, {case.ending}: {case.problem}')
        self.assertEqual(
            [], problems, f'{len(cases)} of {total} kills, '
                          f'seed {series.SEED}')

    def boundaries_of(self, story):
        """Return the boundaries that a rebuild without a kill crosses."""
        found = []
        # What is cached is asked for only by the first.
        for _ in range(2):
            [case] = self.prepare(story, [(None, None)])
            self.cloud.order('record')
            self.request(case).raise_for_status()
            self.do.wait_for(
                'ACTIVE' if story == stories.CAPACITY else 'ERROR',
                case.server)
            # The conductor clears up after a compute has begun.
            self.do.history(case.server)
            time.sleep(2)
            found = self.cloud.crossed()
            self.cloud.order(None)
            self.delete(case)
        self.check_crossed(found)
        return found

    def check_crossed(self, found):
        """Fail if the run has not crossed what each of its kind does."""
        series.check_seen(self, found)

    def prepare(self, story, cases):
        """Have all as it is to be before the process has a request."""
        made = self.bury_all(cases)
        self.have_capacity(story == stories.CAPACITY)
        return made

    def request(self, case):
        """Send the request that the process is to die of."""
        return self.api.rebuild(case.server)

    def have_capacity(self, wanted):
        """Let the scheduler find the compute, or not."""
        if wanted:
            self.cloud.open_host()
        else:
            self.cloud.close_hosts()

    def bury_all(self, cases):
        """Bury a server with a port, a tag and metadata for each case."""
        self.have_capacity(False)
        made = [self.new_case(*case) for case in cases]
        for case in made:
            self.create(case)
        self.do.wait_for('ERROR', *(case.server for case in made))
        return made

    def new_case(self, fault=None, ending=None):
        """Return a case without a server."""
        return Case(fault, ending, self.cloud.neutron.add_port())

    def create(self, case):
        """Have its owner create its server."""
        answer = self.api.ask('POST', '/servers', {'server': {
            'name': 'server', 'flavorRef': 'small',
            'imageRef': standins.IMAGE, 'networks': [{'port': case.port}],
            'tags': stories.TAGS, 'metadata': stories.METADATA}})
        answer.raise_for_status()
        case.server = answer.json()['server']['id']
        return answer

    def _play(self, story, chosen):
        cases = self.prepare(story, chosen)
        for case in cases:
            self._try(case, self.kill)
        self._settle()
        self._try_all(cases, self.check_shown)
        deleted = self._ending(cases, series.DELETE)
        self.delete_all(deleted, remains.is_orphan)
        recovered = self.cloud.recover()
        for case in cases:
            if recovered is None:
                case.problem = case.problem or stories.Lost(
                    'recover could not mend all')
        self._check_gone([case for case in deleted if case.cleared])
        self.have_capacity(True)
        kept = self.kept(self._ending(cases, series.RECOVER))
        self._try_all(kept, self._rebuild_if_buried)
        self._try_all(kept, self.check_active)
        self.delete_all(kept)
        return cases

    def delete_all(self, cases, tolerated=lambda name: False):
        """Delete them, and check what is left of them."""
        self._try_all(cases, self.delete)
        self._try_all(cases, self._wait_until_deleted)
        self._check_gone(cases, tolerated)

    def kept(self, cases):
        """Return those that come back: all, if the process is ours."""
        return cases

    def _ending(self, cases, ending):
        return [case for case in cases if case.ending == ending]

    def _try_all(self, cases, step):
        for case in cases:
            self._try(case, step)

    def _try(self, case, step):
        if case.problem is not None:
            return
        try:
            step(case)
        except (stories.Problem, processes.ProcessError, AssertionError,
                requests.RequestException) as error:
            case.problem = (error if isinstance(error, stories.Problem)
                            else stories.Lost(f'{step.__name__}: {error}'))

    def kill(self, case):
        """Have the process die of the request for a server."""
        self.cloud.order_kill(case.fault.boundary, case.fault.when)
        # So it is if nova-api dies.
        with contextlib.suppress(requests.ConnectionError):
            self.request(case)
        try:
            processes.poll(self.cloud.has_struck, 'its death', 30)
        except processes.ProcessError:
            raise stories.Problem('the boundary was not reached') from None
        finally:
            self.cloud.order(None)
        self.cloud.wait_for_return()
        self.check_shown(case)

    def _settle(self):
        """Let what can still become of the servers become of them.

        A compute that has asked the conductor which died waits for an answer.
        When it gets none, it removes what the server has in Placement.
        """
        before, since = None, time.monotonic()
        end = since + LONGEST_BUILD
        while time.monotonic() - since < SETTLE or (
                time.monotonic() < end and self._is_one_built()):
            now = [[one[name] for name in self.settling] for one in
                   self.api.get('/servers/detail')['servers']]
            if now != before:
                before, since = now, time.monotonic()
            time.sleep(1)

    def _is_one_built(self):
        return any(
            event['event'] == BUILD and event['finish_time'] is None
            for tables in self.cloud.tables().values()
            for event in tables.get('instance_actions_events', ()))

    def status(self, case):
        """Return what a GET shows, or None."""
        answer = self.api.ask('GET', f'/servers/{case.server}')
        return answer.json()['server']['status'] if answer.ok else None

    def check_shown(self, case):
        """Check that its owner sees it exactly once."""
        def shown():
            status = self.status(case)
            listed = [one['status'] for one in self.api.get(
                '/servers/detail')['servers'] if one['id'] == case.server]
            self._seen = f'GET shows {status}, the list {listed}'
            return self.is_right(status, listed)

        try:
            # It may change between the two requests.
            processes.poll(shown, 'that it is shown', 15)
        except processes.ProcessError:
            raise stories.Lost(self._seen) from None

    def is_right(self, status, listed):
        """Tell whether its owner may see it so, by a GET and in a list."""
        return listed == [status] and status in ('BUILD', 'ERROR', 'ACTIVE')

    def _rebuild_if_buried(self, case):
        if self.status(case) == 'ACTIVE':
            return
        self._wait_for(case, 'ERROR')
        case.given_up = self._has_failed_on_compute(case)
        if case.given_up:
            return
        answer = self.rebuild(case)
        if answer.status_code != 202:
            raise stories.Problem(f'a second rebuild answers {answer.text}')

    def rebuild(self, case):
        """Have it rebuilt, and return the answer."""
        return self.api.rebuild(case.server)

    def _has_failed_on_compute(self, case):
        """Tell whether a compute has given up one that shows ERROR.

        So it does if it had asked the conductor that died, and Nova refuses
        to rebuild what failed there, whether or not it was in cell0. The build
        has succeeded, as its event says, if another host was to be tried. What
        was buried again has no such event.
        """
        path = f'/servers/{case.server}/os-instance-actions'
        return any(
            event['event'] == BUILD
            and event['finish_time'] is not None
            for action in self.api.get(path)['instanceActions']
            for event in self.api.get(f'{path}/{action["request_id"]}')[
                'instanceAction']['events'])

    def _wait_for(self, case, status):
        try:
            processes.poll(
                lambda: self.status(case) == status, 'it', PATIENCE)
        except processes.ProcessError:
            raise stories.Lost(
                f'it does not become {status}, it is {self.status(case)}'
            ) from None

    def check_active(self, case):
        """Check that it is ACTIVE with all that it was created with."""
        if case.given_up:
            return
        self._wait_for(case, 'ACTIVE')
        shown = self.api.server(case.server)
        found = {
            'tags': shown['tags'], 'metadata': shown['metadata'],
            'ports': self.cloud.neutron.ports_of(case.server),
            'addresses': len(shown['addresses']),
            'first action': self.do.history(case.server)[0][0],
            'claims': len(self.cloud.allocations(case.server))}
        expected = {
            'tags': stories.TAGS, 'metadata': stories.METADATA,
            'ports': [case.port], 'addresses': 1, 'first action': 'create',
            'claims': 1}
        wrong = {name: value for name, value in found.items()
                 if value != expected[name]}
        if wrong:
            raise stories.Lost(f'ACTIVE with {wrong}')

    def delete(self, case):
        """Delete it as its owner does."""
        answer = self.api.ask('DELETE', f'/servers/{case.server}')
        if answer.status_code != 204:
            raise stories.Lost(f'DELETE answers {answer.text}')

    def _wait_until_deleted(self, case):
        try:
            processes.poll(
                lambda: self.status(case) is None, 'its end', PATIENCE)
        except processes.ProcessError:
            raise stories.Lost('it is there after a DELETE') from None

    def _check_gone(self, cases, tolerated=lambda name: False):
        """Check that no more is left of any than of any deleted server."""
        left = {}

        def gone():
            tables = self.cloud.tables()
            left.update({case.server: self._left_of(case, tables) - self._usual
                         for case in cases if case.problem is None})
            return all(tolerated(name) for found in left.values()
                       for name in found)

        with contextlib.suppress(processes.ProcessError):
            processes.poll(gone, 'their end', 10)
        for case in cases:
            found = left.get(case.server, set())
            case.cleared = case.cleared or bool(found)
            if not all(map(tolerated, found)):
                case.problem = stories.Problem(f'deleted, but left is {found}')

    def _left_of(self, case, tables):
        found = remains.of(case.server, tables)
        if case.server in {
                one['id'] for one in self.api.get('/servers')['servers']}:
            found.add(stories.LISTED)
        found |= {f'port {port}' for port in
                  self.cloud.neutron.ports_of(case.server)}
        if self.cloud.allocations(case.server):
            found.add('allocations')
        return found

    def _usual_remains(self):
        """Return what Nova leaves of a buried and of an active server."""
        [buried] = self.bury_all([(None, None)])
        self.have_capacity(True)
        active = self.new_case()
        self.create(active)
        self.do.wait_for('ACTIVE', active.server)
        for case in (buried, active):
            self.delete(case)
            self._wait_until_deleted(case)
        tables = self.cloud.tables()
        return self._left_of(buried, tables) | self._left_of(active, tables)
