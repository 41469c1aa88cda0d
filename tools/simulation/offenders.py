# SPDX-License-Identifier: Apache-2.0

"""Servers that do wrong, and wait beside all others."""

import collections
import dataclasses
import datetime
import uuid

from cell0_rebuild import exceptions
from cell0_rebuild.wait import values
from tools.simulation import service
from tools.simulation import workload

# The numbers of servers of the trace do not come so far.
_FIRST = 1 << 32
# How old they are at the beginning.
_AGE = 10 * workload.HOUR
_STATES = values.State


@dataclasses.dataclass(frozen=True)
class Offender:
    """Servers that are older than all others, and never stay on a host.

    :param servers: how many there are, of all flavors in turn.
    :param kinds: how many the filters tell apart; 0 is one of each project.
    :param outcome: of requests for their rebuilds.
    :param answers_in: after how many seconds these are answered. The first of
        a project is waited for, for two.
    :param ends: how a rebuild ends that was accepted.
    :param probe: the seconds that Placement takes to say that it has no room
        for one, as each asks for something else. Without it, it says yes.
    :param fails: whether Placement gives no answer in that time.
    """

    servers: int = 60
    kinds: int = 0
    outcome: values.Outcome = values.Outcome.ACCEPTED
    answers_in: float = 0.0
    ends: values.State = _STATES.BURIED
    probe: float = 0.0
    fails: bool = False


BROKEN = 'builds fail on hosts'
OFFENDERS = {
    'nova-api refuses': Offender(outcome=values.Outcome.BLOCKED),
    'nova-api does not answer': Offender(outcome=values.Outcome.AWAY),
    'nova-api takes 30 seconds': Offender(
        outcome=values.Outcome.BLOCKED, answers_in=30.0),
    'filters refuse 60 kinds': Offender(kinds=60),
    BROKEN: Offender(servers=120, ends=_STATES.FAILED_ON_HOST),
    '60 shapes have no room': Offender(probe=service.PROBE),
    'Placement fails after 10 seconds': Offender(probe=10.0, fails=True)}


class Beside(service.Service):
    """A service that has servers of an offender to look after as well."""

    def __init__(self, offender, projects):
        """:param offender: an :class:`Offender`.

        :param projects: over how many projects it is spread.
        """
        super().__init__('fair')
        self._offender, self._projects = offender, projects
        # By UUID; those that were not answered yet, and when they will be.
        self._offending, self._late, self._failed = {}, {}, []
        # How many of those that were created are read, and these by host.
        self._read = 0
        self._landed = collections.defaultdict(list)
        # The projects of which a request was waited for.
        self._waited_for = set()

    def begin(self, world):
        """Begin with those that offend."""
        flavors = [*workload.FLAVORS]
        for number in range(self._offender.servers):
            project = number % self._projects
            request = workload.Request(
                _FIRST + number, project,
                flavors[number // self._projects % len(flavors)],
                number / 1000 - _AGE, 0.0)
            record = values.Waiting(
                str(uuid.UUID(int=request.number)), f'offending-{project}',
                service.moment(request.at), datetime.datetime.max, True)
            kind = values.Kind(
                self._shape(request), str(number % self._offender.kinds)
                if self._offender.kinds else record.project_id)
            self._offending[record.uuid] = self._known[record.uuid] = (
                service.Server(request, kind, record))
        super().begin(world)

    def _shape(self, request):
        shape = self._shapes[request.flavor]
        if self._offender.probe:
            shape = values.Shape(values.Question(
                f'{shape.question.query},CUSTOM_{request.number}:1'))
        return shape

    def census(self):
        """Return also those that offend."""
        return values.Census([*super().census().waiting, *(
            server.record for one, server in self._offending.items()
            if one not in self._sent)])

    def share(self, project_id):
        """Return which part of its quota a project uses."""
        return (0.0 if project_id.startswith('offending')
                else super().share(project_id))

    def room(self, question):
        """Return what Placement offers.

        :raises NoPlacement: if it fails.
        """
        if question in self._flavors:
            return super().room(question)
        self._spent += self._offender.probe
        if self._offender.fails:
            raise exceptions.NoPlacement('It has timed out.')
        return values.Room(0)

    def request(self, servers, stopped=None):
        """Answer those that offend as their offender is answered."""
        new = {record.project_id for record in servers
               if self._offender.answers_in
               and record.uuid in self._offending} - self._waited_for
        self._waited_for |= new
        self._spent += 2.0 if new else 0.0
        answers = []
        for record in servers:
            answers += ([self._offend(record)]
                        if record.uuid in self._offending
                        else super().request([record]))
        return answers

    def _offend(self, record):
        offender = self._offender
        if offender.answers_in:
            self._late[record.uuid] = (
                self._now().seconds + offender.answers_in)
            return values.Answer(values.Outcome.NOT_YET)
        if offender.outcome is values.Outcome.ACCEPTED:
            self._at_scheduler(
                record.uuid, self._end, self._offending[record.uuid])
        return values.Answer(offender.outcome, 'No.')

    def answered(self):
        """Return the answers that were late."""
        due = [one for one, at in self._late.items()
               if at <= self._world.now]
        for one in due:
            del self._late[one]
        return {one: values.Answer(self._offender.outcome, 'No.')
                for one in due}

    def check(self, failed, accepted):
        """Find that nova-api and Keystone answer others."""

    def check_placement(self):
        """Find that Placement answers what is easy."""

    def builds(self, begin):
        """Return also those that have failed, and what the cells tell then."""
        self._read_created()
        failed = [build for build in self._failed if build.at >= begin]
        if not failed:
            return super().builds(begin)
        hosts = {host for build in failed for host in build.hosts}
        return [*super().builds(begin), *failed, *(
            build for host in hosts for build in self._landed[host]
            if build.at >= failed[0].at)]

    def _read_created(self):
        """Note the servers that have landed by now, and did not wait."""
        created = self._world.created
        while self._read < len(created):
            at, project, host = created[self._read]
            if at + service.BUILD > self._world.now:
                break
            self._landed[host].append(values.Build(
                f'created-{self._read}', str(project), _STATES.LANDED,
                service.moment(at + service.BUILD), frozenset([host]),
                waited=False))
            self._read += 1

    def _end(self, server):
        """Have the scheduler look for a host for one that offends."""
        world, flavor = self._world, server.request.flavor
        world.calls += 1
        host = (None if self._offender.ends is _STATES.BURIED
                else world.cloud.schedule(flavor))
        if host is None:
            self._bury(server)
            return
        world.at(world.now + service.BUILD, self._fail, server, host)

    def _fail(self, server, host):
        """Have a build fail; the server has left cell0."""
        one = server.record.uuid
        self._world.cloud.end(host, server.request.flavor)
        self._ended[one] = self._world.now, self._offender.ends, host
        self._failed.append(values.Build(
            one, server.record.project_id, self._offender.ends,
            self._now().utc, frozenset([host])))
        del self._offending[one]
