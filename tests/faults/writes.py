# SPDX-License-Identifier: Apache-2.0

"""Two attempts in a row in which the write of an image goes wrong.

Cinder ends a write well or not, and something happens at one of the calls.
After each attempt an operator sets the volume to reserved again, whatever is
on it.
"""

import dataclasses
import itertools
import time
import typing

from cinderclient import exceptions as cinder_exc
from nova import exception

from tests.faults import boundaries
from tests.faults import errors
from tests.faults import stories

# The image that the second attempt names, and how a write ends.
FORMER, AGAIN = 'former', 'again'
WELL, BADLY = 'reserved', 'error'

# A conductor that has not looked for that many seconds has not seen the end.
_BLIND = 1

_WRITE, _LOOK = 'reimage_volume', 'get'


@dataclasses.dataclass
class Trouble:
    """What happens in one attempt.

    :param boundary: the call at which it does.
    :param name: of what happens.
    :param act: is called there with the stand-in; None if nothing does.
    :param ends: the status in which Cinder ends the write.
    :param when: it does.
    """

    boundary: boundaries.Boundary
    name: str
    act: typing.Callable = None
    ends: str = BADLY
    when: str = boundaries.BEFORE
    cinder: object = None
    struck: bool = False

    def __call__(self, process, boundary, when):
        """Act, if it is the call."""
        if self.struck or (boundary, when) != (self.boundary, self.when):
            return
        self.struck = True
        if self.act is not None:
            self.act(self.cinder)

    def __str__(self):
        return f'{self.name} {self.boundary}, the write ends in {self.ends}'


@dataclasses.dataclass
class Pair:
    """What happens in two attempts."""

    first: Trouble
    second: Trouble
    times = errors.ONCE
    last = None

    @property
    def boundary(self):
        """The boundary that the series is about."""
        return self.first.boundary

    @property
    def struck(self):
        """Whether the first attempt met it."""
        return self.first.struck

    def __str__(self):
        return f'{self.first}; then {self.second}'


def _fail(cinder):
    raise exception.CinderConnectionFailed(reason='broken')


def _be_away(cinder):
    raise cinder_exc.ClientException(503, 'broken')


def _refuse(cinder):
    raise exception.InvalidInput(reason='broken')


def _arrive_late(cinder):
    cinder.late = exception.CinderConnectionFailed(reason='broken')


def _stall(cinder):
    """Let an operator be faster than whoever looks at the volume."""
    cinder.go_on()
    _put_right(cinder)
    time.sleep(1.5 * _BLIND)


def _put_right(cinder):
    if cinder.status == 'error':
        cinder.status = 'reserved'


def _troubles(boundary):
    """Return each trouble that there can be at a call."""
    before, after = boundaries.BEFORE, boundaries.AFTER
    never, always = [BADLY], [BADLY, WELL]
    # A read whose answer is lost is like one that is lost.
    kinds = [('lost before', _fail, before, always)]
    if boundary.what == _WRITE:
        kinds = [('nothing at', None, before, always),
                 ('lost before', _fail, before, never),
                 ('503 in place of', _be_away, before, never),
                 ('400 in place of', _refuse, before, never),
                 ('late', _arrive_late, before, always),
                 ('no answer after', _fail, after, always)]
    elif boundary.what == _LOOK:
        kinds.append(('stall before', _stall, before, always))
    return [Trouble(boundary, name, act, ends, when)
            for name, act, when, all_ends in kinds for ends in all_ends]


class WriteSeries(errors.ErrorSeries):
    """Runs in which the content of a root volume is at stake."""

    def setUp(self):
        super().setUp()
        self.stub_out(
            'cell0_rebuild.conductor.write_evidence.BLIND', _BLIND)

    def faults_of(self, crossed):
        """Replace: each trouble of one attempt, with each of the next."""
        return [
            Pair(dataclasses.replace(first), dataclasses.replace(second))
            for first, second in itertools.product([
                trouble for boundary in crossed
                for trouble in _troubles(boundary)], repeat=2)]

    def run_rebuild(self, server, fault=None):
        """Extend: the first attempt of a pair, and what is done after it."""
        if fault is None:
            return super().run_rebuild(server)
        self._pair, self._refused = fault, True
        return self._attempt(server, fault.first)

    def _attempt(self, server, trouble):
        """Rebuild a server in trouble, and put its volume right."""
        trouble.cinder, self.cinder.ends = self.cinder, trouble.ends
        found = super().run_rebuild(server, trouble)
        self._check_content(server)
        self._refused = self._refused and found[1].status_code == 400
        self.cinder.late = None
        self.cinder.arrive()
        self.cinder.go_on()
        _put_right(self.cinder)
        self.cinder.ends = WELL
        return found

    def _check_content(self, server):
        """Check what a server that is ACTIVE has started from."""
        status = self.check_shown(server)
        # Without an image it keeps what is there.
        promised = server['request'].get('imageRef', self.cinder.image)
        if status == 'ACTIVE' and self.cinder.content != promised:
            raise stories.Lost(
                f'ACTIVE with {self.cinder.content} on its root volume, and '
                f'not {promised}')
        return status

    def _then_former(self, server):
        self._go_on_with(server, self.former_image)

    def _then_again(self, server):
        self._go_on_with(server, server['request']['imageRef'])

    def _go_on_with(self, server, image):
        """Rebuild a server again, with an image, without, and with one."""
        if self._is_active(server):
            return
        server['request'] = {'imageRef': image}
        run, answer = self._attempt(server, self._pair.second)
        self.check(server, self._pair, run, answer)
        if self._is_active(server):
            return
        if not self._pair.second.struck:
            raise stories.Problem('the second boundary was not reached')
        server['request'] = {}
        _, answer = super().run_rebuild(server)
        self._check_content(server)
        if self._refused and answer.status_code != 202:
            raise stories.Problem(
                f'Cinder has refused all, and a rebuild without an image '
                f'answers {answer.text}')
        if self._is_active(server):
            return
        if answer.status_code == 202:
            raise stories.Problem('accepted, and not ACTIVE')
        # Not the one that Cinder says is there: that would want a quick look.
        images = [self.former_image, self.glance.image2['id']]
        images.remove(self.cinder.image)
        server['request'] = {'imageRef': images[0]}
        super().run_rebuild(server)
        self._check_content(server)
        self.check_active(server)
        self._finish(server)

    def _is_active(self, server):
        return self.check_shown(server) == 'ACTIVE'
