# SPDX-License-Identifier: Apache-2.0

"""Two waiting services sweep one cloud, and one of them meets a fault.

The boundaries of a sweep are its commits and its requests to Placement,
Keystone and nova-api. What these do for it is theirs.
"""

import dataclasses
import datetime

from keystoneauth1 import session
from nova.db.main import api as main_db_api

from tests.faults.agent import crossings
from tests.faults import boundaries
from tests.functional import base
from tests.functional.support import databases
from tests.functional.wait import keystone
from tests.functional.wait import sweeping

SERVICE = 'cell0-rebuild-wait'
GO_ON = 'go_on'
# No host has as many.
_TOO_MANY = 64


@dataclasses.dataclass
class Meeting:
    """Has something happen just after a boundary.

    :param meet: what; it is of another process.
    """

    boundary: boundaries.Boundary
    meet: object
    struck: bool = False

    def __call__(self, process, boundary, when):
        """Have it happen if it is the one."""
        if not self.struck and (boundary, when) == (
                self.boundary, boundaries.AFTER):
            self.struck = True
            with crossings.acting(None):
                self.meet()

    def __str__(self):
        return f'another sweep after {self.boundary}'


class SweepCrossings(boundaries.Crossings):
    """Lets the boundaries of a sweep be crossed under our eyes."""

    def __init__(self):
        super().__init__(test=None)

    def _setUp(self):
        self._databases = boundaries.databases()
        self._patch_databases()
        self._patch_placement()
        self._patch(session.Session, '_send_request', _requesting)


def _requesting(original):
    def requested(this, url, method, *args, **kwargs):
        return crossings.cross(
            'http', crossings.request(method, url), original, this, url,
            method, *args, **kwargs)
    return requested


class SweepCase(sweeping.SweepMixin, base.FunctionalTestCase):
    """One server that there is room for, one too big, one out of time.

    All are shown as BUILD when the sweep begins.
    """

    options = {'vm_states': ['error', 'building']}

    def setUp(self):
        super().setUp()
        self.flags(instances=-1, cores=-1, ram=-1, group='quota')
        self.flags(show='build', group=keystone.GROUP)
        self._small = self.api.get_flavors()[0]['id']
        self._big = self._create_flavor(vcpu=_TOO_MANY)
        self.later = datetime.timedelta(hours=2)
        self.useFixture(SweepCrossings())

    def bury_all(self):
        """Bury the three servers, then make room for one."""
        self.fill()
        wishes = {'cell0_rebuild_wait': '1d'}
        self.fits = self.bury_shown(metadata=wishes)
        self.big = self.bury_shown(metadata=wishes, flavorRef=self._big)
        self.over = self.bury_shown(metadata={'cell0_rebuild_wait': '1h'})
        self.make_room()

    def bury_shown(self, **body):
        """Bury a server that is shown as BUILD."""
        server = self.api.post_server({'server': {
            **self._build_server(networks='none'),
            'flavorRef': self._small, **body}})
        self._wait_for_assert(lambda: self.assertFalse(
            databases.has_build_request(server['id'])))
        return server

    def sweep_under(self, fault):
        """Sweep once under a fault; return the process."""
        process, sweeper = crossings.Process(SERVICE, fault), self.a_sweeper()
        try:
            with process.working():
                sweeper.sweep()
        except crossings.Killed:
            # Who dies cannot put right what the fixture keeps for him: the
            # database of those who name none.
            fixture = main_db_api.get_context_manager.__self__
            fixture._last_ctxt_mgr = fixture._default_ctxt_mgr
        return process

    def check_all(self):
        """Check what has become of the servers when all have swept."""
        self.active(self.fits)
        [results] = [results for action, results in self.actions(self.fits)
                     if action == 'rebuild']
        self.assertEqual({'Success'}, set(results))
        self.assert_shown_once(self.fits['id'], 'ACTIVE')
        self.assert_shown_once(self.big['id'], 'BUILD')
        self.assert_shown_once(self.over['id'], 'ERROR')
        for server, code in ((self.big, 'capacity'), (self.over, 'expired')):
            [told] = self.told(server)
            self.assertTrue(told.startswith(f'{code}:'), told)
        self.assertEqual([self.over['id']], [
            fault['instance_uuid']
            for fault in databases.dump()['cell0']['instance_faults']
            if not fault['deleted'] and 'no longer' in fault['message']])

    def delete_all(self):
        """Delete the servers as their owners do."""
        for server in (self.fits, self.big, self.over):
            self.api.delete_server(server['id'])
            self._wait_until_deleted(server)
            self.assertEqual(
                {}, self._get_allocations_by_server_uuid(server['id']))
        self.assertEqual([], self.api.get_servers())

    def forget_all(self):
        """Delete whatever is left of the servers."""
        for server in self.api.get_servers():
            self.api.api_request(f'/servers/{server["id"]}', method='DELETE')
