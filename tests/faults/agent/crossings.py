# SPDX-License-Identifier: Apache-2.0

"""What a boundary is, and how a process crosses one.

It imports nothing of Nova and nothing of OpenStack: real services load it
before they run.
"""

import contextlib
import contextvars
import dataclasses
import re
import sys
import threading

API, CONDUCTOR = 'nova-api', 'nova-conductor'
BEFORE, AFTER = 'before', 'after'

_process = contextvars.ContextVar('process', default=None)
# Who had a thread do what it does.
_caller = contextvars.ContextVar('caller', default='')
_UUID = re.compile(r'[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}')


class Killed(BaseException):
    """The process is dead; not an Exception, so that nobody handles it."""


@dataclasses.dataclass(frozen=True, order=True)
class Boundary:
    """One boundary.

    :param process: which crosses it.
    :param kind: commit, begin, call, cast, placement, neutron, ...
    :param what: the database, the RPC method, the request.
    :param where: the line of the package that crosses it, if there is one.
    :param turn: tells it from earlier ones that are alike.
    """

    process: str
    kind: str
    what: str
    where: str
    turn: int

    def __str__(self):
        turn = f' #{self.turn}' if self.turn > 1 else ''
        return (f'{self.process}: {self.kind} {self.what}{turn} '
                f'({self.where or "nova"})')


class Process:
    """One process: what it has crossed, and whether it is dead."""

    def __init__(self, name, fault):
        self.name = name
        self.dead = False
        self.crossed = []
        self.done = []
        self._fault = fault
        self._turns = {}
        self._working = 0
        self._condition = threading.Condition()

    def cross(self, kind, what, function, *args, **kwargs):
        """Cross a boundary, or have what the fault gives instead."""
        boundary = self._next(kind, what)
        instead = self._act(boundary, BEFORE)
        if instead is not None:
            return instead
        try:
            with acting(None):
                return function(*args, **kwargs)
        finally:
            self.done.append(boundary)
            self._act(boundary, AFTER)

    def _next(self, kind, what):
        if self.dead:
            raise Killed
        with self._condition:
            key = (kind, what, _where())
            self._turns[key] = self._turns.get(key, 0) + 1
            boundary = Boundary(self.name, *key, self._turns[key])
            self.crossed.append(boundary)
        return boundary

    def _act(self, boundary, when):
        if self.dead:
            # It was killed while another thread of it was waiting.
            raise Killed
        if self._fault is None:
            return None
        return self._fault(self, boundary, when)

    @contextlib.contextmanager
    def working(self):
        """Tell that a thread of the process is at work meanwhile."""
        self.begin_work()
        try:
            with acting(self):
                yield
        finally:
            self.end_work()

    def begin_work(self):
        """Count one more piece of work."""
        with self._condition:
            self._working += 1

    def end_work(self):
        """Count one less."""
        with self._condition:
            self._working -= 1
            self._condition.notify_all()

    def wait(self, timeout):
        """Wait until nothing of the process is at work."""
        with self._condition:
            return self._condition.wait_for(lambda: not self._working, timeout)


@contextlib.contextmanager
def acting(process):
    """Let this thread act as a process, or as none of the two."""
    token = _process.set(process)
    try:
        yield
    finally:
        _process.reset(token)


def cross(kind, what, function, *args, **kwargs):
    """Cross a boundary, if this thread acts as a process."""
    process = _process.get()
    if process is None:
        return function(*args, **kwargs)
    return process.cross(kind, what, function, *args, **kwargs)


def transacting(kind, name_of):
    """Return what makes a boundary of the begin or the commit.

    :param name_of: returns the name of the database of a connection, or None.
    """
    def make(original):
        def transacted(connection, *args):
            database = name_of(connection)
            if database is None:
                return original(connection, *args)
            try:
                return cross(kind, database, original, connection, *args)
            except BaseException:
                # As a server does for a client that is gone. The pool takes
                # a connection whose commit has failed back as it is.
                with contextlib.suppress(Exception):
                    connection.connection.rollback()
                raise
        return transacted
    return make


def sending(original):
    """Make a boundary of each RPC message."""
    def sent(self, target, ctxt, message, **kwargs):
        kind = 'call' if kwargs.get('wait_for_reply') else 'cast'
        return cross(kind, message['method'], original, self, target, ctxt,
                     message, **kwargs)
    return sent


def submitting(original):
    """Let what a thread submits act as the process that the thread acts as."""
    def submitted(executor, function, *args, **kwargs):
        return original(executor, _carried(function), *args, **kwargs)
    return submitted


def calling(original):
    """Let what a thread makes a call in act as the thread's process."""
    def called(seconds, call):
        return original(seconds, _carried(call))
    return called


def _carried(function):
    """Return what acts in any thread as the process that this one acts as."""
    process = _process.get()
    if process is None:
        return function
    process.begin_work()
    caller = _where()

    def work(*args, **kwargs):
        _caller.set(caller)
        try:
            with acting(process):
                return function(*args, **kwargs)
        finally:
            process.end_work()
    return work


def request(method, url):
    """Return the name of a request."""
    return f'{method.upper()} {_UUID.sub("*", url.split("?")[0])}'


def _where():
    """Return the innermost function of the package that is on the stack."""
    frame = sys._getframe(1)
    while frame is not None:
        module = frame.f_globals.get('__name__', '')
        if module.startswith('cell0_rebuild.'):
            return f'{module.split(".", 1)[1]}.{frame.f_code.co_name}'
        frame = frame.f_back
    return _caller.get()
