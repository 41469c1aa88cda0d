# SPDX-License-Identifier: Apache-2.0

"""What did not hold once, because of a bug."""

import threading

from nova import context as nova_context
from nova import exception
from nova.network import neutron
from nova import objects
from nova.scheduler.client import query
from oslo_db import exception as db_exc
import oslo_messaging as messaging
from oslo_serialization import jsonutils

from cell0_rebuild.move import api_db
from cell0_rebuild.move import attempt_record
from cell0_rebuild.move import cell0_db
from cell0_rebuild.move import cells
from tests.functional import base
from tests.functional import databases
from tests.functional import recovering
from tests.functional import races_base


class LostServerTest(races_base.RaceTestCase):

    def test_a_lost_confirmation_leaves_the_server_that_is_built(self):
        def deliver_and_fail(*args, **kwargs):
            self._wait_for_assert(lambda: self.assertEqual(
                'ACTIVE', self.api.get_server(self.server['id'])['status']))
            raise messaging.MessageDeliveryFailure('no confirmation')
        self.useFixture(base.Interception(base.CAST, after=deliver_and_fail))
        self.rebuild(self.server)
        self.active(self.server)
        self.assert_shown_once(self.server['id'], 'ACTIVE')
        self.assertEqual('cell1', databases.cell_of(self.server['id']))
        self.assertNotEqual(
            {}, self._get_allocations_by_server_uuid(self.server['id']))
        self.assertEqual([], databases.dump()['cell0']['instances'])

    def test_a_message_that_no_compute_gets_buries_it_again(self):
        def fail(*args, **kwargs):
            raise messaging.MessageDeliveryFailure('broker is down')
        self.stub_out(base.CAST, fail)
        self.rebuild(self.server)
        server = self.buried_again(self.server)
        self.assertIn('MessageDeliveryFailure', server['fault']['message'])
        self.assertEqual([], databases.dump()['cell1']['instances'])
        self.assertEqual(
            {}, self._get_allocations_by_server_uuid(self.server['id']))

    def test_a_database_away_once_after_a_lost_message_buries_it_again(self):
        def fail(*args, **kwargs):
            raise messaging.MessageDeliveryFailure('broker is down')
        self.stub_out(base.CAST, fail)
        self._be_away_once()
        self.rebuild(self.server)
        self.buried_again(self.server)
        self.assert_shown_once(self.server['id'], 'ERROR')
        self.assertEqual(
            [('create', ['Error']), ('rebuild', ['Error'])],
            self.actions(self.server))

    def test_a_database_away_once_in_a_burial_shows_it_again(self):
        self._be_away_once()
        self.computes['host1'].stop()
        self.stub_out('nova.scheduler.client.query.SchedulerQueryClient.'
                      'select_destinations', self._find_nothing)
        self.rebuild(self.server)
        self.buried_again(self.server)
        self.assert_shown_once(self.server['id'], 'ERROR')

    def test_a_database_that_is_away_refuses_without_a_trace(self):
        def be_away(*args):
            raise db_exc.DBConnectionError()
        self.stub_out('cell0_rebuild.move.cell0_db.hide', be_away)
        before = databases.dump()
        error = self.assert_refused(409, self.server)
        self.assertIn('a database does not answer', error)
        self.assertEqual(
            [], databases.differences(before, databases.dump()))
        self.assert_shown_once(self.server['id'], 'ERROR')

    def _be_away_once(self):
        show, failures = cell0_db.show, [db_exc.DBConnectionError()]

        def be_away_once(*args):
            if failures:
                raise failures.pop()
            show(*args)
        self.stub_out('cell0_rebuild.move.cell0_db.show', be_away_once)

    def test_a_name_set_before_a_conductor_comes_is_kept_by_a_burial(self):
        def rename(*args, **kwargs):
            self.api.put_server(
                self.server['id'], {'server': {'name': 'late'}})
        self.useFixture(base.Interception(
            'cell0_rebuild.move.api_db.take', before=rename))
        self.stub_out('nova.scheduler.client.query.SchedulerQueryClient.'
                      'select_destinations', self._find_nothing)
        self.rebuild(self.server)
        self.assertEqual('late', self.buried_again(self.server)['name'])

    def test_rebuilt_at_once_after_its_burial_it_keeps_its_resources(self):
        service = self.computes['host1'].service_ref.uuid
        self.api.put_service(service, {'status': 'disabled'})

        def rebuild(*args, **kwargs):
            self.api.put_service(service, {'status': 'enabled'})
            self.rebuild(self.server)
            self._wait_for_state_change(self.server, 'ACTIVE')
        self.useFixture(base.Interception(
            'cell0_rebuild.move.reburial.bury_again', after=rebuild))
        ended = []
        self.stub_out('cell0_rebuild.conductor.ec2.forget_id', ended.append)
        self.rebuild(self.server)
        self._wait_for_assert(
            lambda: self.assertEqual(2, len(ended)))
        self.assert_shown_once(self.server['id'], 'ACTIVE')
        self.assertNotEqual(
            {}, self._get_allocations_by_server_uuid(self.server['id']))

    def _find_nothing(self, *args, **kwargs):
        raise exception.NoValidHost(reason='')


class StaleAttemptTest(races_base.RaceTestCase):
    """The first scheduler's answer is a failure, and late."""

    def setUp(self):
        super().setUp()
        self._calls = 0
        self._select = query.SchedulerQueryClient.select_destinations

    def test_a_late_no_valid_host_leaves_the_live_server_its_resources(self):
        self._answer_late(lambda: self.active(self.server))
        self.rebuild(self.server)
        self.wait_until_answered()
        self.assertNotEqual(
            {}, self._get_allocations_by_server_uuid(self.server['id']))
        self.assert_shown_once(self.server['id'], 'ACTIVE')

    def test_a_late_no_valid_host_shows_no_server_that_is_on_its_way(self):
        late = self.useFixture(races_base.HeldMessage())
        self.rebuild(self.server)
        self._answer_late(lambda: None)
        late.deliver(0)
        self.assert_shown_once(self.server['id'], 'BUILD')
        [row] = databases.dump()['cell0']['instances']
        self.assertTrue(row['hidden'])
        self.assertEqual(1, len(databases.dump()['cell0']['instance_faults']))
        late.deliver(1)
        self.active(self.server)

    def test_a_late_host_leaves_the_live_server_resources_on_one_host(self):
        claimed = []

        def fill_and_select(*args, **kwargs):
            self._start_compute('host2')
            self.api.put_service(
                self.computes['host1'].service_ref.uuid,
                {'status': 'disabled'})
            hosts = self._select(*args, **kwargs)
            claimed.append(
                self._get_allocations_by_server_uuid(self.server['id']))
            return hosts
        self._answer_late(
            lambda: self.active(self.server), fill_and_select)
        self.rebuild(self.server)
        self.wait_until_answered()
        self.assertEqual([2], [len(hosts) for hosts in claimed])
        self.assertEqual(
            [self._get_provider_uuid_by_host('host1')],
            list(self._get_allocations_by_server_uuid(self.server['id'])))

    def wait_until_answered(self):
        self._wait_for_assert(
            lambda: self.assertIn('is no longer the current one',
                                  self.stdlog.logger.output))

    def _answer_late(self, wait, answer=None):
        def select(*args, **kwargs):
            self._calls += 1
            if self._calls > 1:
                return self._select(*args, **kwargs)
            self.bury_as_an_operator_would()
            self.rebuild(self.server)
            wait()
            if answer:
                return answer(*args, **kwargs)
            raise exception.NoValidHost(reason='late')
        self.stub_out('nova.scheduler.client.query.SchedulerQueryClient.'
                      'select_destinations', select)


class DeletedServerTest(races_base.RaceTestCase):

    def test_a_delete_at_the_hand_over_leaves_no_row(self):
        deleted, marked = threading.Event(), threading.Event()
        cleanup = 'nova.compute.api.API._local_delete_cleanup'
        end = api_db.end

        def mark_late(*args, **kwargs):
            deleted.set()
            marked.wait(20)

        def end_after_the_delete(*args):
            self._delete = threading.Thread(
                target=self.api.delete_server, args=(self.server['id'],))
            self._delete.start()
            deleted.wait(20)
            return end(*args)
        self.useFixture(base.Interception(cleanup, before=mark_late))
        self.stub_out(
            'cell0_rebuild.move.api_db.end', end_after_the_delete)
        self.rebuild(self.server)
        self._wait_for_assert(lambda: self.assertEqual(
            [], databases.dump()['cell0']['instances']))
        marked.set()
        self._delete.join(20)
        self.assert_gone()


class NewerVersionTest(races_base.RaceTestCase):
    """A newer nova-api or conductor has marked the attempt."""

    def setUp(self):
        super().setUp()
        put_on = attempt_record.AttemptRecord.put_on

        def put_more_on(the_mark, instance):
            put_on(the_mark, instance)
            fields = jsonutils.loads(
                instance.system_metadata[attempt_record.KEY])
            instance.system_metadata = dict(
                instance.system_metadata,
                **{attempt_record.KEY: jsonutils.dumps({**fields,
                                                        'newer': 'unknown'})})
        self.stub_out(
            'cell0_rebuild.move.attempt_record.AttemptRecord.put_on',
            put_more_on)

    def test_an_older_conductor_builds_it(self):
        self.rebuild(self.server)
        self.active(self.server)

    def test_an_older_nova_api_deletes_it(self):
        self.useFixture(base.Interception(
            races_base.SCHEDULER,
            before=lambda *args, **kwargs: self.api.delete_server(
                self.server['id'])))
        self.rebuild(self.server)
        self.assert_gone()

    def test_an_older_recover_brings_it_back(self):
        self.stub_out('cell0_rebuild.conductor.endpoint.RebuildEndpoint.'
                      '_build', recovering.crash)
        self.rebuild(self.server)
        self.assertEqual(0, recovering.recover(self.server['id'])[0])
        self.assert_shown_once(self.server['id'], 'ERROR')


class AnswerTest(base.FunctionalTestCase):

    def test_an_address_that_somebody_has_taken_is_refused(self):
        network = self.neutron.network_1['id']
        server = self.bury(
            networks=[{'uuid': network, 'fixed_ip': '192.168.1.50'}])
        self._start_compute('host1')

        def taken(*args, **kwargs):
            raise exception.FixedIpAlreadyInUse(
                address='192.168.1.50', instance_uuid='another')
        self.useFixture(base.fixtures.MockPatchObject(
            neutron.API, 'validate_networks', taken))
        self.assertIn('192.168.1.50', self.assert_refused(400, server))

    def test_a_change_of_the_request_spec_outlives_a_refused_image(self):
        server = self.bury()

        def pin(*args):
            # As PUT of pinned_availability_zone does.
            spec = databases.spec_of(server['id'])
            spec.availability_zone = 'zone'
            spec.save()
        self.useFixture(base.Interception(
            'cell0_rebuild.rpcapi.RebuildAPI.ping', after=pin))
        self.assert_refused(
            409, server,
            imageRef=self.glance.auto_disk_config_enabled_image['id'])
        self.assertEqual(
            'zone', databases.spec_of(server['id']).availability_zone)
        self.assert_shown_once(server['id'], 'ERROR')

    def test_a_key_is_that_of_the_project_mate_who_asks(self):
        server = self.bury()
        self._start_compute('host1')
        self.api = self.api_fixture.api
        self.api.microversion = base.STOCK
        self.assertNotEqual(
            server['user_id'], self.api.auth_user)
        self.api.api_post('/os-keypairs', {'keypair': {
            'name': 'mine', 'type': 'ssh',
            'public_key': base.PUBLIC_KEY}})
        self.rebuild(server, key_name='mine')
        self.assertEqual('mine', self.active(server)['key_name'])


class BuiltServerTest(base.FunctionalTestCase):

    def test_its_ec2_id_is_its_own(self):
        server = self.bury()
        self._start_compute('host1')
        other = self._create_server(networks='none')
        self.rebuild(server)
        self.active(server)
        self.assertEqual(
            ['i-00000001', 'i-00000002'],
            [self._ec2_id_of(other), self._ec2_id_of(server)])

    def _ec2_id_of(self, server):
        """Return what a conductor tells a compute."""
        context = nova_context.get_admin_context()
        mapping = objects.InstanceMapping.get_by_instance_uuid(
            context, server['id'])
        return objects.Instance.get_by_uuid(
            cells.targeted(context, mapping.cell_mapping),
            server['id']).ec2_ids.instance_id

    def test_a_flavor_with_extra_specs_leaves_its_request_spec_as_it_is(self):
        flavor = self._create_flavor(
            extra_spec={'hw:cpu_policy': 'shared'})
        server = self.bury(flavorRef=flavor)
        before = databases.spec_of(server['id']).blob
        self.rebuild(server)
        self.buried_again(server)
        self.assertEqual(before, databases.spec_of(server['id']).blob)
