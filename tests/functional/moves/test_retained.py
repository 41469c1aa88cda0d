# SPDX-License-Identifier: Apache-2.0

"""What Nova forgets at a burial, apart from networks, comes back."""

import base64

from nova.tests import fixtures as nova_fixtures

from tests.functional import base
from tests.functional.support import databases
from tests.functional.support import recovering


class RequestedHostTest(base.FunctionalTestCase):

    def setUp(self):
        # Left to itself the scheduler prefers host2.
        self.useFixture(nova_fixtures.HostNameWeigherFixture(
            weights={'host1': 1, 'host2': 100}))
        super().setUp()
        for host in ('host1', 'host2'):
            self._start_compute(host)

    def test_while_it_is_not_there_the_server_is_buried_again(self):
        self.api.put_service(
            self.computes['host1'].service_ref.uuid, {'status': 'disabled'})
        server = self.bury(host='host1')
        self.rebuild(server)
        self.buried_again(server)
        self.assertEqual('host1', databases.spec_of(
            server['id']).retained.requested_destination.host)


class PersonalityTestCase(base.FunctionalTestCase):

    content = base64.b64encode(b'hello').decode()

    def setUp(self):
        super().setUp()
        self.injected = []
        self.useFixture(base.Interception(
            'nova.compute.manager.ComputeManager.build_and_run_instance',
            before=lambda *args, **kwargs: self.injected.append(
                kwargs['injected_files']), is_certain=False))
        server = self._build_server()
        server.pop('networks', None)
        server['personality'] = [
            {'path': '/etc/hello', 'contents': self.content}]
        with self.microversion_is('2.36'):
            server = self.api.post_server({'server': server})
        self.server = self._wait_for_state_change(server, 'ERROR')
        self._start_compute('host1')

    def assert_refused_for_its_files(self):
        before = databases.dump()
        error = self.assert_refused(409, self.server)
        self.assertIn('/etc/hello', error)
        self.assertIn('personality_files = drop', error)
        self.assertEqual(
            [], databases.differences(before, databases.dump()))

    def assert_not_stored(self):
        self.assertNotIn(self.content, str(databases.dump()))


class PersistTest(PersonalityTestCase):

    def test_personality_files_are_injected_and_then_forgotten(self):
        self.rebuild(self.server)
        self.active(self.server)
        self.assertEqual([[['/etc/hello', self.content]]], self.injected)
        self.assert_not_stored()

    def test_they_are_kept_over_a_further_burial(self):
        self.api.put_service(
            self.computes['host1'].service_ref.uuid, {'status': 'disabled'})
        self.rebuild(self.server)
        self.buried_again(self.server)
        self.assertEqual(
            [['/etc/hello', self.content]],
            databases.spec_of(self.server['id']).retained.injected_files)

    def test_kept_files_are_refused_when_the_option_says_so_now(self):
        self.flags(personality_files='refuse', group='cell0_rebuild')
        self.assert_refused_for_its_files()


class RefuseTest(PersonalityTestCase):

    options = {'personality_files': 'refuse'}

    def test_a_server_created_with_files_is_409(self):
        self.assert_refused_for_its_files()

    def test_the_files_are_not_stored(self):
        self.assert_not_stored()

    def test_later_persist_does_not_rebuild_it_without_its_files(self):
        self.flags(personality_files='persist', group='cell0_rebuild')
        self.assert_refused_for_its_files()

    def test_a_server_created_without_files_is_rebuilt(self):
        service = self.computes['host1'].service_ref.uuid
        self.api.put_service(service, {'status': 'disabled'})
        server = self.bury()
        self.api.put_service(service, {'status': 'enabled'})
        self.rebuild(server)
        self.active(server)


class DropTest(PersonalityTestCase):

    options = {'personality_files': 'drop'}

    def test_the_server_is_rebuilt_without_its_files(self):
        self.rebuild(self.server)
        self.active(self.server)
        self.assertEqual([[]], self.injected)
        self.assert_not_stored()

    def test_the_log_warns_of_it_at_burial_and_at_rebuild(self):
        self.rebuild(self.server)
        self.active(self.server)
        self.assertIn('The personality files /etc/hello of the server are '
                      'lost', self.stdlog.logger.output)
        self.assertIn('rebuilt without the personality files /etc/hello',
                      self.stdlog.logger.output)


class RequestSpecTest(base.FunctionalTestCase):

    def test_a_change_of_the_request_spec_outlives_a_refused_image(self):
        server = self.bury()

        def pin(*args):
            # As PUT of pinned_availability_zone does.
            spec = databases.spec_of(server['id'])
            spec.availability_zone = 'zone'
            spec.save()
        self.useFixture(base.Interception(
            recovering.PROBE, after=pin))
        self.assert_refused(
            409, server,
            imageRef=self.glance.auto_disk_config_enabled_image['id'])
        self.assertEqual(
            'zone', databases.spec_of(server['id']).availability_zone)
        self.assert_shown_once(server['id'], 'ERROR')

    def test_a_flavor_with_extra_specs_leaves_its_request_spec_as_it_is(self):
        flavor = self._create_flavor(
            extra_spec={'hw:cpu_policy': 'shared'})
        server = self.bury(flavorRef=flavor)
        before = databases.spec_of(server['id']).blob
        self.rebuild(server)
        self.buried_again(server)
        self.assertEqual(before, databases.spec_of(server['id']).blob)
