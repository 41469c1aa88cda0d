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

"""What Nova forgets at a burial, apart from networks, comes back."""

import base64

from nova.tests import fixtures as nova_fixtures

from tests.functional import base
from tests.functional import databases


class RequestedHostTest(base.FunctionalTestCase):

    def setUp(self):
        # Left to itself the scheduler prefers host2.
        self.useFixture(nova_fixtures.HostNameWeigherFixture(
            weights={'host1': 1, 'host2': 100}))
        super().setUp()
        for host in ('host1', 'host2'):
            self._start_compute(host)

    def test_the_host_that_was_asked_for_is_built_on(self):
        service = self.computes['host1'].service_ref.uuid
        self.api.put_service(service, {'status': 'disabled'})
        server = self.bury(host='host1')
        self.api.put_service(service, {'status': 'enabled'})
        self.rebuild(server)
        self.assertEqual(
            'host1', self.active(server)['OS-EXT-SRV-ATTR:host'])

    def test_while_it_is_not_there_the_server_is_buried_again(self):
        self.api.put_service(
            self.computes['host1'].service_ref.uuid, {'status': 'disabled'})
        server = self.bury(host='host1')
        self.rebuild(server)
        self.buried_again(server)
        self.assertEqual('host1', databases.spec_of(
            server['id']).kept.requested_destination.host)


class PersonalityTest(base.FunctionalTestCase):

    def test_personality_files_are_injected_and_then_forgotten(self):
        injected = []
        self.useFixture(base.Interception(
            'nova.compute.manager.ComputeManager.build_and_run_instance',
            before=lambda *args, **kwargs: injected.append(
                kwargs['injected_files'])))
        content = base64.b64encode(b'hello').decode()
        server = self._build_server()
        server.pop('networks', None)
        server['personality'] = [{'path': '/etc/hello', 'contents': content}]
        with self.microversion_is('2.36'):
            server = self.api.post_server({'server': server})
        server = self._wait_for_state_change(server, 'ERROR')
        self._start_compute('host1')
        self.rebuild(server)
        self.active(server)
        self.assertEqual([[['/etc/hello', content]]], injected)
        self.assertNotIn(content, str(databases.dump()))
