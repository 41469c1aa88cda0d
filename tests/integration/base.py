#    Licensed under the Apache License, Version 2.0 (the "License"); you may
#    not use this file except in compliance with the License. You may obtain
#    a copy of the License at
#
#         http://www.apache.org/licenses/LICENSE-2.0
#
#    Unless required by applicable law or agreed to in writing, software
#    distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
#    WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
#    License for the specific language governing permissions and limitations
#    under the License.

"""What tests do with a cloud."""

import os
import unittest

from tests.integration import cloud as clouds
from tests.integration import processes
from tests.integration import standins


def shared_cloud():
    """Return a cloud for all tests of a module.

    To be called from its ``setUpModule``.
    """
    missing = clouds.missing_packages()
    if missing and os.geteuid():
        raise unittest.SkipTest(
            f'the Debian packages {" and ".join(missing)} are not installed')
    if missing:
        raise AssertionError(
            f'tools/install_system_packages.sh must install '
            f'{" and ".join(missing)} first')
    cloud = clouds.Cloud()
    unittest.addModuleCleanup(cloud.cleanUp)
    cloud.setUp()
    return cloud


class Actions:
    """What an owner and an operator do with a cloud."""

    def __init__(self, cloud):
        self.cloud = cloud
        self.api = cloud.api

    def bury(self, count=1):
        """Create servers that find no host and return their IDs."""
        self.cloud.close_hosts()
        made = [self.api.post('/servers', {'server': {
            'name': f'server-{number}', 'flavorRef': 'small',
            'imageRef': standins.IMAGE, 'networks': 'none'}})['server']['id']
            for number in range(count)]
        self.wait_for('ERROR', *made)
        return made

    def rebuild(self, server_id):
        """Have a server rebuilt."""
        answer = self.api.rebuild(server_id)
        if answer.status_code != 202:
            raise AssertionError(f'{answer.status_code} {answer.text}')

    def wait_for(self, status, *servers):
        """Wait until servers have a status."""
        processes.poll(
            lambda: {status} == {
                self.api.server(server)['status'] for server in servers},
            f'that servers {servers} became {status}')

    def history(self, server_id):
        """Return the actions of a server and the results of their events.

        Waits until no event is in progress, oldest action first.
        """
        def ended():
            found = list(self._actions(server_id))
            return None not in {result for _, results in found
                                for result in results} and found

        return processes.poll(ended, f'the end of events of {server_id}')

    def _actions(self, server_id):
        path = f'/servers/{server_id}/os-instance-actions'
        for action in reversed(self.api.get(path)['instanceActions']):
            found = self.api.get(f'{path}/{action["request_id"]}')
            yield action['action'], [
                event['result'] for event in found['instanceAction']['events']]
