# SPDX-License-Identifier: Apache-2.0

"""A cloud without a Nova, for a sweeper to look at and to act on."""

import collections
import dataclasses
import datetime

from cell0_rebuild import exceptions
from cell0_rebuild.wait.decision import pacing
from cell0_rebuild.wait import sweep
from cell0_rebuild.wait import values
from tests.unit.wait import samples

SMALL = samples.kind('resources=VCPU:1')
ACCEPTED = values.Answer(values.Outcome.ACCEPTED)
# Seconds that Placement takes.
PROBE = 0.03


class Cloud:
    """What a sweeper reads, asks, and requests rebuilds of.

    :ivar on_their_way: the servers whose rebuilds were accepted, and when.
    :ivar rooms: how many servers there is room for, by the question; where
        none is named, there is room for all.
    :ivar answer: returns the answer to a request for a server, or None if it
        is accepted.
    :ivar slow: after how many seconds requests are answered that are not
        answered in time, by the project.
    :ivar refused: the kinds that the filters refuse.
    :ivar failing: the projects whose builds fail on hosts.
    :ivar builds_in: how many seconds a build takes, where it is not as usual,
        by the project.
    :ivar broken: the hosts on which all builds fail.
    :ivar hosts: how many there are, which take builds in turns.
    :ivar fail: called with what Placement is asked about.
    :ivar members: where those of server groups are.
    :ivar takes: how many seconds it takes for that, by a part of it.
    :ivar refused_twice: how many requests were refused because the server was
        on its way already.
    :ivar is_away: whether nova-api and Keystone answer nobody.
    """

    def __init__(self, claim=1.0, check=0.5, build=20.0, **options):
        """:param claim: seconds until the scheduler has answered.

        :param check: seconds from there until its compute has checked it.
        :param build: seconds from there until a server is ACTIVE.
        """
        self.section = samples.section(**options)
        self.seconds, self._claim, self._build = 0.0, claim, build
        self._check = check
        self.waiting, self.kind_of, self.on_their_way = {}, {}, {}
        self._states = {}
        self.rooms, self.refused, self.failing = {}, set(), set()
        self.hosts, self.broken, self.ended = 10, set(), []
        self.builds_in = {}
        self.answer = lambda server: None
        self.fail = lambda asked: None
        self.members = {}
        self.takes, self.asked = {}, collections.Counter()
        self.shares, self.told = {}, {}
        self.shown, self.read = set(), set()
        self.checks, self.is_away = [], False
        self.slow, self.late, self.refused_twice = {}, {}, 0
        self._waited_for = set()
        self.requests, self.landed, self.calls = [], {}, 0
        self.restart()

    def restart(self):
        """Have another service begin, which remembers nothing."""
        self.sweeper = sweep.Sweeper(
            lambda: self.section, self, self, self, self, self._now)

    def _now(self):
        return values.Now(
            samples.NOON + datetime.timedelta(seconds=self.seconds),
            1000.0 + self.seconds)

    def wait(self, count, project='a', kind=SMALL, age=0.0, **fields):
        """Have servers wait, each a little younger; return their UUIDs."""
        uuids = []
        for _ in range(count):
            number = len(self.kind_of) + 1
            server = samples.server(
                number, project, age - number / 3600000, **fields)
            self.waiting[server.uuid] = server
            self.kind_of[server.uuid] = kind
            uuids.append(server.uuid)
        return uuids

    def run(self, seconds, until=lambda: False, is_moving=False):
        """Sweep for a while, as the service does; return the last result.

        :param is_moving: whether it looks as often as while servers come back.
        """
        end, swept = self.seconds + seconds, None
        while self.seconds < end and not until():
            swept = self.sweeper.sweep()
            # Most questions take no time here.
            self.seconds += pacing.interval(
                swept.asks_in if swept.probe_seconds else pacing.asks_in(
                    swept.probes * PROBE, self.section.probe_budget),
                is_moving, swept.has_room)
        return swept

    def landed_of(self, uuids):
        """Return how many of some servers have landed."""
        return sum(uuid in self.landed for uuid in uuids)

    def break_all(self):
        """Have all builds fail on the only host."""
        self.hosts, self.broken = 1, {'host-0'}

    def land_others(self):
        """Have a build of somebody who does not wait land on each host."""
        self.ended += [values.Build(
            f'created-{self.seconds}-{number}', 'created',
            values.State.LANDED, self._now().utc,
            frozenset([f'host-{number}']), False)
            for number in range(self.hosts)]

    def census(self):
        self._settle()
        return values.Census(list(self.waiting.values()), self.shown)

    def kinds(self, uuids, waiting):
        return {uuid: self.kind_of[uuid] for uuid in uuids}

    def groups(self, uuids):
        return {uuid: self.members.get(uuid, values.Members())
                for uuid in uuids}

    def state(self, uuid):
        self._settle()
        return self._states[uuid]

    def _settle(self):
        """Have what is on its way go on, whoever looks."""
        for uuid, (server, sent) in [*self.on_their_way.items()]:
            state = self._state(server, self.seconds - sent)
            self._states[uuid] = state
            if state in (values.State.BURIED, values.State.LANDED,
                         values.State.FAILED_ON_HOST):
                self.calls += 1
                del self.on_their_way[uuid]

    def _state(self, server, seconds):
        """Return where a server is; note it if that is for good."""
        uuid, now = server.uuid, self._now().utc
        if seconds < self._claim:
            return values.State.SENT
        if self._states[uuid] is values.State.SENT and not self._claims(uuid):
            self.waiting[uuid] = dataclasses.replace(
                server, failures=server.failures + 1, tried_at=now)
            return values.State.BURIED
        if seconds < self._claim + self.builds_in.get(
                server.project_id, self._build):
            return (values.State.BUILDING
                    if seconds < self._claim + self._check
                    else values.State.SPAWNING)
        host = f'host-{len(self.ended) % self.hosts}'
        fails = server.project_id in self.failing or host in self.broken
        if not fails:
            self.landed[uuid] = self.seconds
        self.ended.append(values.Build(
            uuid, server.project_id, values.State.FAILED_ON_HOST if fails
            else values.State.LANDED, now, frozenset([host])))
        return self.ended[-1].state

    def _claims(self, uuid):
        """Have the scheduler take room for a server, if it finds some."""
        kind = self.kind_of[uuid]
        question = kind.shape.question
        if kind in self.refused or self.rooms.get(question, 1) < 1:
            return False
        if question in self.rooms:
            self.rooms[question] -= 1
        return True

    def builds(self, begin):
        return [*(build for build in self.ended if build.at >= begin), *(
            values.Build(uuid, server.project_id, self._states[uuid],
                         self._now().utc)
            for uuid, (server, _) in self.on_their_way.items()
            if self._states[uuid] is not values.State.SENT)]

    def room(self, question):
        self._ask(question)
        servers = self.rooms.get(question, 999)
        return values.Room(
            min(servers, 50), servers, is_cut=servers > 50,
            providers=frozenset(map(str, range(min(servers, 50)))))

    def share(self, project_id):
        self._ask(project_id)
        return self.shares.get(project_id, 0.0)

    def _ask(self, asked):
        self.asked[asked] += 1
        self.seconds += sum(seconds for part, seconds in self.takes.items()
                            if part in str(asked))
        self.fail(asked)

    def short(self, question):
        self.asked['short'] += 1
        self.seconds += self.takes.get('short', 0)
        return values.Reason(values.Code.CAPACITY, 'No host has 1 VCPU free.')

    def request(self, servers, stopped=None):
        late = [server for server in servers if server.project_id in self.slow]
        new = {server.project_id for server in late} - self._waited_for
        self._waited_for |= new
        self.seconds += 2 if new else 0
        for server in late:
            self.late[server.uuid] = (
                server, self.seconds + self.slow[server.project_id])
        return [values.Answer(values.Outcome.NOT_YET) if server in late
                else self._request(server) for server in servers]

    def answered(self):
        due = [uuid for uuid, (_, at) in self.late.items()
               if at <= self.seconds]
        return {uuid: self._request(self.late.pop(uuid)[0]) for uuid in due}

    def _request(self, server):
        self.requests.append((self.seconds, server.uuid))
        if server.uuid not in self.waiting:
            self.refused_twice += 1
            return values.Answer(values.Outcome.BUSY)
        answer = self.answer(server)
        if answer is None:
            del self.waiting[server.uuid]
            self.on_their_way[server.uuid] = server, self.seconds
            self._states[server.uuid] = values.State.SENT
        return answer or ACCEPTED

    def check(self, failed, accepted):
        self.checks.append((failed.outcome, accepted and accepted.uuid))
        if self.is_away:
            raise exceptions.NoApi(failed.text)

    def check_placement(self):
        self.fail('control')

    def load(self, uuids):
        self.read = set(uuids)

    def published(self, uuid):
        return self.told[uuid].code if uuid in self.told else None

    def publish(self, reasons_of, project_of=None):
        self.told.update(reasons_of)
        return len(reasons_of)

    def update(self, waiting, shown):
        self.shown = set(waiting)
