# SPDX-License-Identifier: Apache-2.0

"""What requests answer for a server that waits, however it is shown.

doc/source/reference/waiting-states.rst has the same.
"""

import datetime
import json

import ddt
from oslo_utils import fixture as time_fixture
from oslo_utils import timeutils

from tests.functional.wait import keystone
from tests.functional.wait import showing_base


@ddt.ddt
class StatesTest(showing_base.ShowingTestCase):

    def show(self, show):
        """Have the site show servers that wait in a way."""
        self.flags(show=show, group=keystone.GROUP)
        self.sweeper.sweep()

    def answered(self, method, path, body=None):
        """Return the code that a request of the owner is answered with."""
        return self.api.api_request(
            f'/servers/{self.server["id"]}{path}', method=method,
            body=body and json.dumps(body)).status_code

    @ddt.data(('error', 'ERROR', 'error'), ('build', 'BUILD', 'building'))
    @ddt.unpack
    def test_it_is_shown_as_the_site_says(self, show, status, vm_state):
        self.show(show)
        self.assert_shown(status)
        shown = self.api.get_server(self.server['id'])
        self.assertEqual(
            (vm_state, None), (shown['OS-EXT-STS:vm_state'],
                               shown['OS-EXT-STS:task_state']))

    def test_who_asks_what_has_changed_sees_that_its_time_is_over(self):
        self.show('build')
        over = timeutils.utcnow() + datetime.timedelta(hours=2)
        self.useFixture(time_fixture.TimeFixture(over))
        self.sweeper.sweep()
        [found] = self.api.get_servers(search_opts={
            'changes-since': f'{over:%Y-%m-%dT%H:%M:%SZ}'})
        self.assertEqual('ERROR', found['status'])

    @ddt.data('error', 'build')
    def test_what_is_changed_answers_alike(self, show):
        self.show(show)
        for wanted, *request in (
                (200, 'PUT', '', {'server': {'name': 'renamed'}}),
                (409, 'POST', '/metadata', {'metadata': {'a': 'b'}}),
                (409, 'DELETE', '/metadata/cell0_rebuild_wait'),
                (409, 'PUT', '/tags/one'),
                (409, 'POST', '/action', {'reboot': {'type': 'HARD'}}),
                (409, 'POST', '/action', {'os-stop': None}),
                (202, 'POST', '/action', {'lock': None}),
                (409, 'DELETE', ''),
                (202, 'POST', '/action', {'unlock': None}),
                (204, 'DELETE', '')):
            self.assertEqual(wanted, self.answered(*request), request)
