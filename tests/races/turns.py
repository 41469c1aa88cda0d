# SPDX-License-Identifier: Apache-2.0

"""Threads that take turns, and only at the boundaries that they cross.

An actor is a thread that does one operation. It stops before each begin of a
transaction and each message or request to another service, and goes on when
it is its turn. Nothing is decided by time.
"""

import collections
import concurrent.futures
import contextlib
import dataclasses
import re
import threading

import fixtures
import futurist
from nova.db.main import api as main_db_api
from nova.tests import fixtures as nova_fixtures
import sqlalchemy as sa
from sqlalchemy import engine as sa_engine

from tests.faults.agent import crossings
from tests.faults import boundaries

DONE, STOPPED, BLOCKED = 'done', 'stopped', 'blocked'

_STATEMENT = re.compile(
    r'\b(FROM|JOIN|INTO|UPDATE|DELETE FROM)\s+"?(\w+)', re.IGNORECASE)
_READING = ('get', 'show', 'list', 'detail', 'GET', 'ping', 'is_', 'check')
_MESSAGES = ('call', 'cast')
# What a service does for a message is not seen: all that it may touch.
_BEHIND = {
    'select_destinations': {'placement'},
    'external_instance_event': {
        'cell1.instance_actions', 'cell1.instance_actions_events'},
    'build_and_run_instance': {
        'cell1.instances', 'cell1.block_device_mapping',
        'cell1.instance_actions', 'placement', 'neutron', 'cinder'},
    'terminate_instance': {
        'cell1.instances', 'cell1.block_device_mapping', 'placement',
        'cell1.instance_actions', 'neutron', 'cinder', 'cell1.tags',
        'api.instance_mappings'},
}
_PATIENCE = 60
# Whom a service keeps waiting that reports its state, say, is not blocked.
_held_by_actors: collections.Counter = collections.Counter()


class Stuck(Exception):
    """An actor neither ends nor stops."""


@dataclasses.dataclass
class Section:
    """What an actor does between two stops.

    :param name: what it begins with.
    """

    name: str
    reads: set[str] = dataclasses.field(default_factory=set)
    writes: set[str] = dataclasses.field(default_factory=set)


class Actor:
    """Does an operation, a turn at a time."""

    def __init__(self, name, operation):
        self.name = name
        self.sections = [Section('begin')]
        self.answer = self.error = None
        self._operation = operation
        self._goes = threading.Semaphore(0)
        self._reports = threading.Semaphore(0)
        self._state = STOPPED
        self._until = None
        self._held = collections.Counter()
        self._thread = threading.Thread(target=self._act, daemon=True)
        self._thread.start()

    @property
    def is_done(self):
        """Whether the operation has ended."""
        return self._state == DONE

    def go(self, until=None):
        """Let it go on until its so manieth stop, or to its end."""
        if self.is_done:
            return DONE
        if until is not None and len(self.sections) > until:
            return STOPPED
        self._until = until
        self._goes.release()
        if not self._reports.acquire(timeout=_PATIENCE):
            raise Stuck(f'{self.name} in {self.sections[-1].name}')
        return self._state

    def _act(self):
        self._goes.acquire()
        try:
            with crossings.acting(self):
                self.answer = self._operation()
        except BaseException as error:
            self.error = error
            self.answer = repr(error)
        finally:
            self._report(DONE)

    def _report(self, state):
        self._state = state
        self._reports.release()

    def _wait(self, state):
        """Say why it does not go on, until it is its turn again."""
        self._report(state)
        self._goes.acquire()

    def cross(self, kind, what, function, *args, **kwargs):
        """Stop before a boundary and cross it."""
        if kind == 'begin':
            # Who writes has stopped before he took the lock.
            if not self._held[what]:
                self._stop(f'{kind} {what}')
        elif kind != 'commit':
            self._stop(f'{kind} {what}')
            self._note_request(kind, what)
            if kind in _MESSAGES:
                self._wait_for_service(what)
        if kind in ('begin', 'commit'):
            return function(*args, **kwargs)
        with crossings.acting(None):
            return function(*args, **kwargs)

    @contextlib.contextmanager
    def locking(self, database, lock):
        """Hold the lock of whoever writes to a database."""
        if not self._held[database]:
            self._stop(f'write {database}')
        while not lock.acquire(blocking=not _held_by_actors[database]):
            self._wait(BLOCKED)
        self._held[database] += 1
        _held_by_actors[database] += 1
        try:
            yield
        finally:
            self._held[database] -= 1
            _held_by_actors[database] -= 1
            lock.release()

    def note_statement(self, database, statement):
        """Remember which tables a statement reads or writes."""
        section = self.sections[-1]
        writes = not statement.lstrip().upper().startswith('SELECT')
        for number, (_, table) in enumerate(_STATEMENT.findall(statement)):
            into = section.writes if writes and not number else section.reads
            into.add(f'{database}.{table}')

    def _note_request(self, kind, what):
        section = self.sections[-1]
        if kind in _MESSAGES:
            section.writes |= _BEHIND.get(what, set())
        elif what.startswith(_READING):
            section.reads.add(kind)
        else:
            section.writes.add(kind)

    def _wait_for_service(self, what):
        """Wait as a service does if another actor has locked its database."""
        databases = {name.partition('.')[0] for name in _BEHIND.get(what, ())}
        while any(_held_by_actors[database] > self._held[database]
                  for database in databases):
            self._wait(BLOCKED)

    def _stop(self, name):
        self.sections.append(Section(name))
        if self._until is not None and len(self.sections) > self._until:
            self._wait(STOPPED)


class Turns(boundaries.Crossings):
    """Lets actors stop at boundaries, and only actors.

    :param after_cast: is called when an actor has sent a message that nobody
        answers, to wait for what it brings about.
    """

    def __init__(self, test, after_cast):
        super().__init__(test)
        self._after_cast = after_cast

    def _setUp(self):
        self._keep_no_cell_locked()
        super()._setUp()
        self._patch_locks()
        self._patch_casts()
        sa.event.listen(
            sa_engine.Engine, 'before_cursor_execute', self._note)
        self.addCleanup(
            sa.event.remove, sa_engine.Engine, 'before_cursor_execute',
            self._note)

    def _keep_no_cell_locked(self):
        # Nova's fixture locks a cell as long as a context is targeted at it.
        cells = main_db_api.get_context_manager.__self__

        def get_context_manager(context):
            return (getattr(context, 'db_connection', None)
                    or cells._default_ctxt_mgr)
        self.useFixture(fixtures.MonkeyPatch(
            'nova.db.main.api.get_context_manager', get_context_manager))
        self.useFixture(fixtures.MonkeyPatch(
            'nova.context.target_cell', cells._real_target_cell))

    def _patch_locks(self):
        original = nova_fixtures.DatabaseWriteLock._get_lock

        def get_lock(fixture, url):
            lock = original(fixture, url)
            actor = crossings._process.get()
            name = self._databases.get(str(url))
            if actor is None or name is None:
                return lock
            return actor.locking(name, lock)
        self.useFixture(fixtures.MockPatchObject(
            nova_fixtures.DatabaseWriteLock, '_get_lock', get_lock))

    def _patch_casts(self):
        def send(original):
            def sent(transport, target, ctxt, message, **kwargs):
                actor = crossings._process.get()
                result = original(transport, target, ctxt, message, **kwargs)
                if actor is not None and not kwargs.get('wait_for_reply'):
                    with crossings.acting(None):
                        self._after_cast()
                return result
            return sent
        self._patch(boundaries.transport.RPCTransport, '_send', send)

    def _patch_threads(self):
        def submit(original):
            def submitted(executor, function, *args, **kwargs):
                if crossings._process.get() is None:
                    return original(executor, function, *args, **kwargs)
                # Which of two threads is first would be chance.
                future = concurrent.futures.Future()
                try:
                    future.set_result(function(*args, **kwargs))
                except Exception as error:
                    future.set_exception(error)
                return future
            return submitted
        self._patch(futurist.ThreadPoolExecutor, 'submit', submit)

    def _note(self, connection, cursor, statement, *args):
        actor = crossings._process.get()
        if actor is not None:
            actor.note_statement(self._databases.get(
                str(connection.engine.url), 'other'), statement)
