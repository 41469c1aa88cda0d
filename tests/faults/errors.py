# SPDX-License-Identifier: Apache-2.0

"""A database, the broker or another service fails at any boundary."""

import dataclasses
import json
import time
import types
import typing

from cinderclient import exceptions as cinder_exc
from glanceclient import exc as glance_exc
from keystoneauth1 import exceptions as ks_exc
from neutronclient.common import exceptions as neutron_exc
from nova import exception
from oslo_db import exception as db_exc
import oslo_messaging as messaging
import requests

from tests.faults import boundaries
from tests.faults import series
from tests.faults import stories
from tests.functional.support import databases

ONCE, ALWAYS, WHILE = 'once', 'from there on', 'for a while'

# So often what is asked fails while it is away. A conductor tries more often
# to bury a server again.
_TRIES = 4


@dataclasses.dataclass
class Error:
    """Something fails at one boundary.

    :param make: returns the exception, or the answer, that there is instead.
    :param when: after the boundary only the reply is lost.
    :param times: ALWAYS keeps the whole database or service failing, and
        WHILE for some tries.
    """

    boundary: boundaries.Boundary
    make: typing.Callable
    when: str = boundaries.BEFORE
    times: str = ONCE
    struck: bool = False
    failed: int = 0
    last: typing.Optional[boundaries.Boundary] = None

    def __call__(self, process, boundary, when):
        """Fail if it is the one, or like it and later."""
        if not self._is_meant(boundary, when):
            return None
        self.struck = True
        self.failed += 1
        if process.name == boundaries.API:
            self.last = boundary
        made = self.make()
        if isinstance(made, Exception):
            raise made
        return made

    def _is_meant(self, boundary, when):
        if when != self.when:
            return False
        if self.struck and (self.times == ALWAYS or (
                self.times == WHILE and self.failed < _TRIES)):
            return _asked(boundary) == _asked(self.boundary)
        return not self.struck and boundary == self.boundary

    def __str__(self):
        made = self.make()
        name = (type(made).__name__ if isinstance(made, Exception)
                else f'answer {made.status_code}')
        return f'{name} {self.times} {self.when} {self.boundary}'


def _asked(boundary):
    """Return who is asked at a boundary: a database or a service."""
    if boundary.kind in ('begin', 'commit'):
        return 'database', boundary.what
    # Of those behind the broker each has methods of its own.
    named = boundary.what if boundary.kind in ('call', 'cast') else None
    return boundary.kind, named


def _answer(code):
    def make():
        answer = requests.Response()
        answer.status_code = code
        answer._content = json.dumps({'errors': [
            {'status': code, 'title': 'broken', 'detail': 'broken'}]}).encode()
        answer.headers['x-openstack-request-id'] = 'req-broken'
        return answer
    return make


def _raised(cls, *args, **kwargs):
    return lambda: cls(*args, **kwargs)


_BEFORE, _AFTER = boundaries.BEFORE, boundaries.AFTER
_GONE = _raised(db_exc.DBConnectionError)
_UNSENT = _raised(messaging.MessageDeliveryFailure, 'broken')
_SILENT = _raised(messaging.MessagingTimeout, 'broken')
_REFUSED = _raised(ks_exc.ConnectFailure, 'broken')
_TIMED_OUT = _raised(ks_exc.ConnectTimeout, 'broken')

# What can happen at a boundary of each kind, or at one of them.
ERRORS = {
    'begin': ((_GONE, _BEFORE, ONCE), (_GONE, _BEFORE, WHILE),
              (_GONE, _BEFORE, ALWAYS)),
    'commit': (
        (_GONE, _BEFORE, ONCE), (_GONE, _BEFORE, WHILE),
        (_GONE, _BEFORE, ALWAYS),
        (_raised(db_exc.DBDeadlock), _BEFORE, ONCE),
        (_raised(db_exc.DBDeadlock), _BEFORE, ALWAYS),
        (_raised(db_exc.DBError, 'disk full'), _BEFORE, ONCE),
        # Whether it was committed is unknown to who asked for it.
        (_GONE, _AFTER, ONCE)),
    'call': ((_UNSENT, _BEFORE, ONCE), (_SILENT, _BEFORE, ONCE),
             (_SILENT, _BEFORE, ALWAYS), (_SILENT, _AFTER, ONCE)),
    'cast': ((_UNSENT, _BEFORE, ONCE), (_UNSENT, _AFTER, ONCE)),
    'placement': (
        (_answer(500), _BEFORE, ONCE), (_answer(503), _BEFORE, ALWAYS),
        (_REFUSED, _BEFORE, ONCE), (_TIMED_OUT, _BEFORE, ALWAYS),
        (_TIMED_OUT, _AFTER, ONCE)),
    'neutron': (
        (_raised(neutron_exc.ServiceUnavailable), _BEFORE, ONCE),
        (_raised(neutron_exc.InternalServerError), _BEFORE, ONCE),
        (_raised(neutron_exc.ConnectionFailed, reason='broken'), _BEFORE,
         ALWAYS)),
    'cinder': (
        (_raised(exception.CinderConnectionFailed, reason='broken'), _BEFORE,
         ONCE),
        (_raised(cinder_exc.ClientException, 500, 'broken'), _BEFORE, ONCE)),
    'glance': (
        (_raised(exception.GlanceConnectionFailed, server='it',
                 reason='broken'), _BEFORE, ONCE),
        (_raised(glance_exc.HTTPServiceUnavailable, 'broken'), _BEFORE, ONCE),
        (_raised(glance_exc.HTTPInternalServerError, 'broken'), _BEFORE,
         ONCE)),
    'cyborg': (
        (_raised(exception.AcceleratorRequestOpFailed, op='get',
                 msg='broken'), _BEFORE, ONCE),),
    'get_device_profile_groups': (
        (_raised(exception.DeviceProfileError, name='it', msg='broken'),
         _BEFORE, ONCE),),
    # It asks nobody.
    'get_device_request_groups': (),
}


def of(boundary):
    """Return what can happen at a boundary, as an Error is made of it."""
    return ERRORS.get(boundary.what, ERRORS[boundary.kind])


# What Nova does in the request by itself, before and after our part.
_OF_NOVA = ('', 'api.microversion.rebuild_action')


def _is_told(fault, answer):
    """Tell whether the user knows that the server may stay in BUILD.

    As long as cell0 is away nobody knows whether the row there is hidden;
    back in cell0 the server might not be seen.
    """
    return (fault.times == ALWAYS and fault.boundary.what == 'cell0'
            and 'an operator can recover it' in answer.text)


class ErrorSeries(series.Series):
    """Runs in which something fails, and what the user is told."""

    def setUp(self):
        super().setUp()
        # Nobody has to wait before something is tried again.
        clock = types.SimpleNamespace(sleep=lambda _: time.sleep(0.01))
        self.stub_out('oslo_db.api.time', clock)
        self.stub_out('tenacity.nap.time', clock)

    def faults_of(self, crossed):
        """Replace: each boundary has the errors of its kind.

        Only a conductor outlasts a database that is away: who asked nova-api
        does not wait that long.
        """
        return [Error(boundary, *error) for boundary in crossed
                for error in of(boundary) if error[2] != WHILE
                or boundary.process == boundaries.CONDUCTOR]

    def run_rebuild(self, server, fault=None):
        """Extend: remember what there was before."""
        self._before = databases.dump()
        return super().run_rebuild(server, fault)

    def check(self, server, fault, run, answer):
        """Extend: a refusal leaves no trace and says why."""
        status = self._status(server, fault)
        if answer.status_code == 202:
            if status == 'BUILD' and fault.times != ALWAYS:
                raise stories.Problem('accepted, and it stays in BUILD')
            return
        if not any(boundary.what == 'build_and_run_instance'
                   for boundary in run.conductor.crossed):
            self._check_untouched(fault, run, answer)
        if (answer.status_code >= 500
                and (fault.last or fault.boundary).where not in _OF_NOVA):
            raise stories.Problem(f'the answer is {answer.text}')

    def _status(self, server, fault):
        try:
            return self.check_shown(server)
        except stories.Lost:
            if fault.times != ALWAYS or fault.boundary.what == 'api':
                raise
        # What is in a cell that is away cannot be put right.
        self.recover(server)
        self.cleared = True
        return self.check_shown(server)

    def _check_untouched(self, fault, run, answer):
        # Whoever takes a move back writes rows again.
        changed = [line for line in databases.differences(
            self._before, databases.dump())
            if not line.split(':')[0].endswith('.updated_at')]
        if changed and not (run.conductor.crossed
                            or _is_told(fault, answer)):
            raise stories.Problem(f'refused, and changed: {changed}')
