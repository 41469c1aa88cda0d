# SPDX-License-Identifier: Apache-2.0

"""A Nova in which two operations meet in every order, again and again."""

import collections
import contextlib
import dataclasses
import functools
import itertools
import os
import pathlib
import random
import re
import time

import fixtures
from nova.db.main import models
from nova.tests import fixtures as nova_fixtures
import sqlalchemy as sa

from tests.functional import base
from tests.races import endings
from tests.races import operations
from tests.races import outcome
from tests.races import schedules
from tests.races import turns
from tests.races import verdicts
from tests import result_log

# How many schedules of each pair a quick run takes; all if it is 0.
SAMPLE = int(os.environ.get('CELL0_REBUILD_RACES_SAMPLE', '3'))
SEED = int(os.environ.get('CELL0_REBUILD_RACES_SEED', '1'))
# Which pairs; a regular expression.
ONLY = os.environ.get('CELL0_REBUILD_RACES_ONLY', '')
# Where each schedule is written as a line of JSON, for tools/run_series.py;
# what is there is not run again.
LOG = os.environ.get('CELL0_REBUILD_RACES_LOG')


class FreshIds(fixtures.Fixture):
    """Gives no instance the ID of a row that was deleted.

    SQLite does; InnoDB and PostgreSQL do not, and a conductor tells its row
    from that of another attempt by it.
    """

    def _setUp(self):
        numbers = itertools.count(1)

        def number(mapper, connection, instance):
            instance.id = next(numbers)
        event = models.Instance, 'before_insert', number
        sa.event.listen(*event)
        self.addCleanup(sa.event.remove, *event)


class ForeignKeys(fixtures.Fixture):
    """Has SQLite refuse rows that refer to none, as other databases do.

    A compute that saves a server that was removed would add one to it.
    """

    def _setUp(self):
        def check(connection, record):
            connection.execute('PRAGMA foreign_keys=ON')
        event = sa.engine.Engine, 'connect', check
        sa.event.listen(*event)
        self.addCleanup(sa.event.remove, *event)


class RaceTestCase(base.FunctionalTestCase):
    """nova-api, conductor, scheduler and a compute, used for many races."""

    capacity = True

    def setUp(self):
        self.useFixture(ForeignKeys())
        super().setUp()
        # A server that has failed has a fault, which Nova's schema of the
        # answer does not know; it is late there in real life.
        self.flags(response_validation='ignore', group='api')
        # Nova's fixture knows no forced delete.
        self.stub_out('nova.rpc.LegacyValidatingNotifier.fatal', False)
        self.flags(instances=-1, cores=-1, ram=-1, server_groups=-1,
                   group='quota')
        self.cinder = self.useFixture(nova_fixtures.CinderFixture(self))
        self.useFixture(FreshIds())
        # Whom a stale conductor waits for may have been stopped.
        self.stub_out('cell0_rebuild.conductor.resource_claims._PATIENCE', 1)
        self._compute = self._start_compute('host1').service_ref.uuid
        self._start_full_compute('host2')
        self.messages = self.useFixture(operations.Messages())
        self._server = None
        self.useFixture(turns.Turns(self, self._settle))
        self._operations = operations.Operations(self)
        self._sections = {}
        self._alone = {}
        self._stock = collections.defaultdict(list)

    def _start_full_compute(self, name):
        """Start one that keeps its zone available when the other is not."""
        self._start_compute(name)
        provider = self._get_provider_uuid_by_host(name)
        self.placement.delete(
            f'/resource_providers/{provider}/inventories', version='1.5')

    def accelerators_of(self, server_id):
        """Return how many accelerators a server has bound."""
        return 0

    def race_all(self, *pairs):
        """Run the schedules of pairs and check that each is as an order."""
        chosen = [pair for pair in pairs if re.search(ONLY, ' | '.join(pair))]
        if not chosen:
            self.skipTest(f'it has no pair that is like {ONLY}')
        problems = {f'{a} | {b}': self.race(a, b) for a, b in chosen}
        self.assertEqual(
            {}, {pair: found for pair, found in problems.items() if found},
            f'seed {SEED}')

    def race(self, a, b):
        """Run the schedules of a pair; return what ended like no order."""
        orders = self._orders(a, b)
        for order in orders:
            self._log(pair=f'{a} | {b}', order=str(order))
        sections = [self._sections[name, operations.needed(a, b)]
                    for name in (a, b)]
        total, chosen = schedules.of(*sections, same=a == b)
        self.assertNotEqual([], chosen, 'the two never meet')
        self._log(pair=f'{a} | {b}', total=total, different=len(chosen))
        if len(chosen) > SAMPLE > 0:
            chosen = random.Random(f'{SEED} {a} {b}').sample(chosen, SAMPLE)
        problems, done = [], self._logged(f'{a} | {b}')
        judge = (verdicts.of_recovery if b in ('recover', 'again')
                 else verdicts.of)
        for schedule in chosen:
            if str(schedule) in done:
                continue
            played = self._play(a, b, schedule)
            at = [sections[schedule.swapped][schedule.first].name,
                  sections[not schedule.swapped][schedule.second - 1].name]
            names = (b, a) if schedule.swapped else (a, b)
            left = sections[not schedule.swapped][schedule.second:]
            stops = dict(zip(names, [at[0], left[0].name if left else None]))
            verdict = judge(
                played, [*orders, *endings.told_late(stops, orders)])
            self._log(
                pair=f'{a} | {b}', schedule=str(schedule), verdict=verdict,
                at=at, blocked=played.blocked, ended=str(played))
            if verdict == verdicts.DIFFERENT:
                problems.append(
                    f'{schedule}: {played}, not {[*map(str, orders)]}')
        return problems

    def _orders(self, a, b):
        """Play the orders that a race may end like."""
        orders = [self._only(a, b, number) for number in (0, 1)]
        orders += [self._play(a, b, [0, 1]), self._play(a, b, [1, 0])]
        if b == 'tag':
            orders += endings.of_two_requests(orders[2])
            # Of two requests the second may be refused.
            for order in ([0, 1], [1, 0]):
                played = self._play(a, 'reset', order)
                played.answers[1] = [played.answers[1], verdicts.NOT_DONE]
                orders.append(played)
                if not self.capacity:
                    orders.append(endings.overtaken(played, orders[0]))
        if b in ('reset', 'tag') and not self.capacity:
            orders.append(endings.overtaken(orders[2], orders[0]))
        if b in ('port', 'volume') and self.capacity:
            orders += [self._as_create(b), self._failed(a, b)]
        if b in operations.DELETES:
            orders += self._not_deleted(a, b, orders[2])
        return [*orders, *self._recovered(a, b, orders[1]),
                *endings.of_failed_create(a, b, orders)]

    def _recovered(self, a, b, other):
        """Return how else it may end where there is a recovery."""
        if a == 'take_back':
            return endings.not_taken_back(b, other)
        if b not in ('recover', 'again') or a in operations.BURIALS:
            return []
        # A rebuild may be interrupted by it. If no conductor has it yet, it
        # is refused then.
        played = self._play('deliver', b, [1])
        return [dataclasses.replace(
            played, answers=[answer, played.answers[1]])
            for answer in (202, True, verdicts.NOT_DONE)]

    def _not_deleted(self, a, b, deleted):
        """Return what a delete may leave."""
        left = [endings.half_deleted(deleted)] if self.capacity else []
        if b == 'stock_delete':
            left += self._whole(a, b)
        return left

    def _whole(self, a, b):
        """Return the whole servers that a stock delete may leave.

        204 is right only where the rebuild has taken the server out of cell0.
        """
        with self._no_capacity():
            ends = [(202, self._play(a, b, [0])), (409, self._play(a, b, []))]
        built = [dataclasses.replace(
            self._only(a, b, 0), answers=[202, 204],
            verdict=verdicts.NOT_DELETED)] if self.capacity else []
        return [*built, *(dataclasses.replace(
            buried, answers=[answer, 500], verdict=verdicts.NOT_DELETED,
            state={**buried.state, 'rows': [
                row.replace('error/None', f'error/{task}')
                for row in buried.state['rows']]})
            for answer, buried in ends for task in (None, 'deleting'))]

    def _failed(self, a, b):
        """Rebuild a server in vain, and take what it needs from it."""
        with self._no_capacity():
            played = self._play(a, b, [0, 1])
        return dataclasses.replace(played, verdict=verdicts.FAILED)

    def _as_create(self, b):
        """Create a server that loses what it needs just before it is built."""
        body = self._operations.body([b])
        self._server = {'asked': body}

        def lose(api, context, instance, *args, **kwargs):
            self._operations.make(b, {'asked': body, 'id': instance.uuid})()
        self.useFixture(base.Interception(base.CAST, before=lose))
        self._server.update(self._ask_for(dict(body), False))
        self._wait_for_state_change(self._server, 'ERROR')
        self._settle()
        state = outcome.of(self, self._server['id'])
        self._forget(self._server)
        return verdicts.Played(
            [202, 'deleted'], {**state, 'actions': ['create', 'rebuild']},
            verdict=verdicts.AS_CREATE)

    def _only(self, a, b, number):
        name = (a, b)[number]
        key = name, operations.needed(a, b)
        if key not in self._alone:
            # What is cached is asked for only by the first.
            self._play(a, b, [number])
            self._alone[key] = self._play(a, b, [number])
        answers = [verdicts.NOT_DONE] * 2
        answers[number] = next(
            answer for answer in self._alone[key].answers
            if answer != verdicts.NOT_DONE)
        return dataclasses.replace(self._alone[key], answers=answers)

    def _play(self, a, b, schedule):
        server = self._take(a, b)
        made = [self._operations.make(name, server) for name in (a, b)]
        actors = [turns.Actor(name, operation)
                  for name, operation in zip((a, b), made)]
        blocked = False
        if isinstance(schedule, list):
            for number in schedule:
                actors[number].go()
                if len(schedule) == 1:
                    self._check_done(actors[number], a, b)
                if len(schedule) == 1 or (
                        # A rebuild does little before there is a burial.
                        b in operations.CREATES and number == schedule[1]):
                    self._sections[(a, b)[number], operations.needed(
                        a, b)] = actors[number].sections
            answers = [actors[number].answer if number in schedule
                       else verdicts.NOT_DONE for number in (0, 1)]
        else:
            blocked = self._interleave(actors, schedule)
            answers = [actor.answer for actor in actors]
        self._settle()
        played = verdicts.Played(
            answers, outcome.of(self, server['id']), blocked)
        self._forget(server)
        return played

    def _check_done(self, actor, *pair):
        """Fail if an operation that meets nobody does not do its work."""
        self.assertIsNone(actor.error)
        answers = (actor.answer if isinstance(actor.answer, list)
                   else [actor.answer])
        if not operations.may_be_refused(actor.name, pair):
            self.assertEqual([], [
                answer for answer in answers
                if isinstance(answer, int) and answer >= 400], actor.name)

    def _interleave(self, actors, schedule):
        one, other = actors[::-1] if schedule.swapped else actors
        one.go(schedule.first)
        states = [other.go(schedule.second)]
        while not (one.is_done and other.is_done):
            states += [one.go(), other.go()]
        return turns.BLOCKED in states

    def _take(self, *names):
        """Return a buried server that is prepared for operations."""
        needed = operations.needed(*names)
        stock = self._stock[needed]
        if not stock:
            stock.extend(self._bury_some(needed))
        self._server = server = stock.pop()
        self._operations.prepare(names, server)
        return server

    def _bury_some(self, needed):
        self._enable(False)
        bodies = [self._operations.body(needed) for _ in range(12)]
        asks = [functools.partial(self._ask_for, dict(body), 'group' in needed)
                for body in bodies]
        if operations.CREATES & needed:
            buried = [self._held(ask) for ask in asks]
        else:
            buried = [dict(server, asked=body)
                      for server, body in zip(self._ask_all(asks), bodies)]
        self._enable(self.capacity)
        return buried

    def _ask_all(self, asks):
        """Return the servers that are asked for, when they are buried."""
        servers = [ask() for ask in asks]
        for server in servers:
            self._wait_for_state_change(server, 'ERROR')
        return servers

    def _held(self, ask):
        """Return a server that an operation is to bury."""
        server, message = self.messages.hold(ask)
        return dict(server, message=message)

    def _ask_for(self, body, grouped):
        server = self._build_server(networks=body.pop('networks', 'none'))
        request = {'server': {**server, **body, 'name': 'server'}}
        if grouped:
            with self.microversion_is('2.15'):
                group = self.api.post_server_groups({
                    'name': 'a', 'policies': ['affinity']})
            request['os:scheduler_hints'] = {'group': group['id']}
        return self.api.post_server(request)

    @contextlib.contextmanager
    def _no_capacity(self):
        # The sections of a rebuild are others without it.
        capacity, sections = self.capacity, dict(self._sections)
        self.capacity = False
        self._enable(False)
        try:
            yield
        finally:
            self.capacity, self._sections = capacity, sections
            self._enable(capacity)

    def _enable(self, wanted):
        self.admin_api.put_service(
            self._compute, {'status': 'enabled' if wanted else 'disabled'})

    def _settle(self):
        """Wait until no compute is at work on the server."""
        end = time.monotonic() + 20
        while outcome.is_busy(self._server['id']):
            if time.monotonic() > end:
                raise AssertionError('a compute does not end')
            time.sleep(0.01)

    def _forget(self, server):
        for port in self.neutron._ports.values():
            if port.get('device_id') == server['id']:
                port.update({'device_id': '', 'binding:host_id': None})
        self.admin_api.api_request(f'/servers/{server["id"]}',
                                   method='DELETE')
        self._settle()
        self.placement.delete(f'/allocations/{server["id"]}')

    def _logged(self, pair):
        if not LOG:
            return set()
        return {line.get('schedule')
                for line in result_log.lines(pathlib.Path(LOG)) if (
                    line['pair'], line['capacity']) == (pair, self.capacity)}

    def _log(self, **line):
        if LOG:
            result_log.write(LOG, **line, capacity=self.capacity)
