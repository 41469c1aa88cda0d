# SPDX-License-Identifier: Apache-2.0

"""A server is deleted while a database is down, on its way or not."""

import contextlib
import threading

from oslo_db import exception as db_exc

from tests.faults import boundaries
from tests.faults import errors
from tests.faults import remains
from tests.faults import stories
from tests.functional.support import databases

# As soon as the database is down, or when the rebuild has given up.
AT_ONCE, LATER = 'delete_at_once', 'delete_later'


class _Outage:
    """A fault, and from then on the database is down for all."""

    def __init__(self, fault, when_down):
        self._fault = fault
        self._when_down = when_down
        self._down = databases.down(fault.boundary.what)
        self._stack = contextlib.ExitStack()
        self._lock, self._over = threading.Lock(), False

    def __getattr__(self, name):
        return getattr(self._fault, name)

    def __call__(self, process, boundary, when):
        before = self._fault.struck
        try:
            return self._fault(process, boundary, when)
        finally:
            if self._fault.struck and not before:
                self._begin()

    def _begin(self):
        with self._lock:
            if not self._over:
                self._stack.enter_context(self._down)
                self._when_down()

    def let_nothing_begin(self):
        """Ignore a conductor that is later than its run."""
        with self._lock:
            self._over = True

    def end(self):
        """Have the database back."""
        self._stack.close()


class DeleteTest(errors.ErrorSeries):

    def test_with_capacity_it_is_gone_or_complete(self):
        self.play_all(stories.CAPACITY, AT_ONCE, LATER)

    def test_without_capacity_it_is_gone_or_complete(self):
        self.play_all(stories.NO_CAPACITY, AT_ONCE, LATER,
                      processes=[boundaries.CONDUCTOR])

    def faults_of(self, crossed):
        """Replace: at each boundary its database goes away for good."""
        return [
            fault for fault in super().faults_of(crossed)
            if fault.boundary.kind in ('begin', 'commit')
            and fault.times == errors.ALWAYS
            and isinstance(fault.make(), db_exc.DBConnectionError)
            for _ in (AT_ONCE, LATER)]

    def check(self, server, fault, run, answer):
        """Replace: what a delete meanwhile has done is all that counts."""

    def _play(self, story, ending, fault):
        self._ending = ending
        return super()._play(story, ending, fault)

    def run_rebuild(self, server, fault=None):
        """Extend: delete the server while the database is down."""
        self._outage = None
        if fault is None:
            return super().run_rebuild(server)
        self._answer = None
        deleting = threading.Thread(target=self._delete, args=[server])

        def begin():
            if self._ending == AT_ONCE:
                deleting.start()
                # Whoever works on the server now may have locked it.
                deleting.join(1)

        self._outage = _Outage(fault, begin)
        run, answer = super().run_rebuild(server, self._outage)
        self._outage.let_nothing_begin()
        begun = deleting.ident is not None
        if begun:
            deleting.join(60)
        self._outage.end()
        if not begun:
            # What a compute did without its database is Nova's.
            with contextlib.suppress(stories.Problem):
                super()._settle(server, run)
            self._delete_later(server, fault.boundary.what)
        return run, answer

    def _settle(self, server, run):
        """Extend: not before the database is back."""
        self._reset_fixture()
        if self._outage is None:
            super()._settle(server, run)

    def _delete(self, server):
        self._answer = self.api.api_request(
            f'/servers/{server["id"]}', method='DELETE')

    def _delete_later(self, server, database):
        on_its_way = (databases.has_build_request(server['id'])
                      and databases.cell_of(server['id']) is None)
        before = databases.dump()
        with databases.down(database):
            self._delete(server)
        if self._is_deleted():
            return
        if on_its_way and database != 'api':
            raise stories.Lost(f'DELETE answers {self._answer.text}')
        changed = databases.differences(before, databases.dump())
        if changed:
            raise stories.Problem(f'not deleted, and changed: {changed}')

    def _is_deleted(self):
        return self._answer is not None and self._answer.status_code == 204

    def _then_delete_at_once(self, server):
        if not self._is_deleted():
            self._status(server, self._outage)
            self.delete(server)
        self._check_gone_for_good(server)

    _then_delete_later = _then_delete_at_once

    def _check_gone_for_good(self, server):
        try:
            self._wait_until_deleted(server)
        except AssertionError as error:
            raise stories.Lost('it is there after a DELETE') from error
        if self.left_of(server):
            self.recover(server)
            self.cleared = True
        self.check_gone(server, (remains.ACCELERATORS, remains.EXTRA)
                        .__contains__)
