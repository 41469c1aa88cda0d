# SPDX-License-Identifier: Apache-2.0

"""What was found by letting something fail at every boundary."""


from glanceclient import exc as glance_exc
from neutronclient.common import exceptions as neutron_exc
from nova import context as nova_context
from nova.db.main import api as main_db_api
from nova import exception
from oslo_db import exception as db_exc
from sqlalchemy.engine import base as sa_base

from cell0_rebuild import exceptions
from cell0_rebuild.move import cells
from tests.functional import base
from tests.functional import cyborg
from tests.functional import databases
from tests.functional import recovering
from tests.functional import races_base


class DeadConductorTest(races_base.RaceTestCase):

    def test_a_delete_after_its_conductor_has_died_leaves_no_row(self):
        self.stub_out('cell0_rebuild.move.attempt.hand_over',
                      recovering.crash)
        self.rebuild(self.server)
        self._wait_for_assert(lambda: self.assertEqual(
            'cell1', databases.cell_of(self.server['id'])))
        self.assert_shown_once(self.server['id'], 'BUILD')
        self.api.delete_server(self.server['id'])
        self.assert_gone()
        self.assertEqual([], databases.dump()['cell0']['instances'])

    def test_a_delete_after_its_conductor_has_died_leaves_no_ghost(self):
        self.stub_out('cell0_rebuild.conductor.builder.Builder.'
                      '_map_instance_to_cell', recovering.crash)
        self.rebuild(self.server)
        self._wait_for_assert(lambda: self.assertEqual(
            1, len(databases.dump()['cell1']['block_device_mapping'])))
        self.assert_shown_once(self.server['id'], 'BUILD')
        self.configure_cell0()
        self.api.delete_server(self.server['id'])
        self.assert_gone()

    def configure_cell0(self):
        """Have nova-api's own database be cell0, as outside of tests."""
        fixture = main_db_api.get_context_manager.__self__
        cell0 = cells.cell0(nova_context.get_admin_context())
        fixture._default_ctxt_mgr = fixture._last_ctxt_mgr = (
            fixture._ctxt_mgrs[cell0.database_connection])


class AcceleratorTest(base.FunctionalTestCase):

    def test_recovered_it_is_rebuilt_with_one_accelerator(self):
        accelerators = self.useFixture(cyborg.Cyborg())
        compute = self._start_compute('host1').service_ref.uuid
        flavor = accelerators.add_device(self)
        self.admin_api.put_service(compute, {'status': 'disabled'})
        server = self.bury(flavorRef=flavor)
        self.admin_api.put_service(compute, {'status': 'enabled'})
        # The first is bound, and no host told of it.
        self.useFixture(base.Interception(recovering.CAST, recovering.crash))
        self.rebuild(server)
        self._wait_for_assert(
            lambda: self.assertEqual(1, len(accelerators.of(server['id']))))
        self.assertEqual(0, recovering.recover(server['id'])[0])
        self.rebuild(server)
        self.active(server)
        self.assertEqual(1, len(accelerators.of(server['id'])))


class LostCommitTest(races_base.RaceTestCase):
    """A database has committed, and then its connection is lost."""

    def test_a_move_that_is_refused_leaves_no_trace(self):
        self._assert_refused_without_a_trace('api')

    def test_a_new_image_that_is_refused_leaves_no_trace(self):
        self._assert_refused_without_a_trace(
            'api', imageRef=self.glance.auto_disk_config_enabled_image['id'])

    def test_a_hiding_that_is_refused_leaves_no_trace(self):
        self._assert_refused_without_a_trace('cell0')

    def test_a_hiding_and_no_database_since_show_it_in_build(self):
        self.stub_out(
            'cell0_rebuild.move.cell0_db.show', self._raise_away)
        self.useFixture(LostCommit('cell0'))
        self.assert_refused(409, self.server)
        self.assert_shown_once(self.server['id'], 'BUILD')

    def test_a_conductor_that_has_taken_it_builds_it(self):
        # The first is nova-api's.
        self.useFixture(LostCommit('api', number=2))
        self.rebuild(self.server)
        self.active(self.server)

    def test_a_conductor_that_has_mapped_it_buries_it_again(self):
        self.useFixture(base.Interception(
            'cell0_rebuild.move.api_db.into_cell',
            after=self._raise_away))
        self.rebuild(self.server)
        self.buried_again(self.server)
        self.assert_shown_once(self.server['id'], 'ERROR')
        self.assertEqual([], databases.dump()['cell1']['instances'])

    def test_a_conductor_that_has_handed_it_over_buries_it_again(self):
        self.useFixture(base.Interception(
            'cell0_rebuild.move.api_db.end', after=self._raise_away))
        self.rebuild(self.server)
        self.buried_again(self.server)
        self.assert_shown_once(self.server['id'], 'ERROR')
        self.assertEqual([], databases.dump()['cell1']['instances'])

    def test_a_hand_over_that_is_not_committed_leaves_no_build_request(self):
        self.useFixture(base.Interception(
            'cell0_rebuild.move.api_db.end', before=self._raise_away))
        self.rebuild(self.server)
        self.buried_again(self.server)
        self.assert_shown_once(self.server['id'], 'ERROR')
        found = databases.dump()
        self.assertEqual([], found['api']['build_requests'])
        self.assertEqual([], found['cell1']['instances'])

    def test_a_cast_that_fails_and_a_lost_commit_show_it_once(self):
        self.useFixture(base.Interception(base.CAST, before=self._raise_away))
        self.useFixture(base.Interception(
            'cell0_rebuild.move.api_db.remap', after=self._raise_away))
        self.rebuild(self.server)
        self.buried_again(self.server)
        self.assert_shown_once(self.server['id'], 'ERROR')
        self.assertEqual([], databases.dump()['cell1']['instances'])

    def test_a_refused_rebuild_is_taken_back_as_a_whole(self):
        def be_silent(*args):
            raise exceptions.NoConductor('no answer')
        self.stub_out('cell0_rebuild.rpcapi.RebuildAPI.'
                      'rebuild_instance_in_cell0', be_silent)
        self._assert_refused_without_a_trace('api', number=2)

    def test_a_hiccup_while_it_is_taken_back_leaves_no_trace(self):
        def be_silent(*args):
            raise exceptions.NoConductor('no answer')
        self.stub_out('cell0_rebuild.rpcapi.RebuildAPI.'
                      'rebuild_instance_in_cell0', be_silent)
        hiccup = self.useFixture(base.Interception(
            'cell0_rebuild.move.api_db.to_cell0',
            before=self._raise_away))
        before = databases.dump()
        self.assert_refused(409, self.server)
        self.assertEqual([], self._changed_since(before))
        self.assert_shown_once(self.server['id'], 'ERROR')
        self.assertNotIn('before', hiccup.waiting())

    def _assert_refused_without_a_trace(
        self, database, number=1, **body
    ):
        before = databases.dump()
        self.useFixture(LostCommit(database, number))
        self.assert_refused(409, self.server, **body)
        self.assertEqual([], self._changed_since(before))
        self.assert_shown_once(self.server['id'], 'ERROR')

    def _changed_since(self, before):
        return [line for line in databases.differences(
            before, databases.dump()) if '.updated_at: ' not in line]

    def _raise_away(self, *args, **kwargs):
        raise db_exc.DBConnectionError()


class LostCommit(base.fixtures.Fixture):
    """Loses the answer to one of the next commits in a database."""

    def __init__(self, database, number=1):
        self._database = database
        self._left = number

    def _setUp(self):
        # Those of older releases have all the same URL.
        names = {engine.pool: name
                 for name, engine in databases.engines().items()}
        commit = sa_base.Connection._commit_impl

        def commit_and_lose(connection):
            commit(connection)
            if names.get(connection.engine.pool) == self._database:
                self._left -= 1
                if not self._left:
                    raise db_exc.DBConnectionError()
        self.useFixture(base.fixtures.MonkeyPatch(
            'sqlalchemy.engine.base.Connection._commit_impl',
            commit_and_lose))


class AnswerTest(base.FunctionalTestCase):

    def setUp(self):
        super().setUp()
        self.server = self.bury(
            networks=[{'port': self.neutron.port_1['id']}])
        self._start_compute('host1')

    def test_a_network_service_that_is_away_is_told(self):
        self._assert_told_of(
            'network service', neutron_exc.ServiceUnavailable(),
            'nova.network.neutron.API.validate_networks')

    def test_an_image_service_that_is_away_is_told(self):
        self._assert_told_of(
            'image service', exception.GlanceConnectionFailed(
                server='it', reason='away'), 'nova.image.glance.API.get')

    def test_a_port_that_neutron_cannot_show_is_told(self):
        self._assert_told_of(
            'Failed to access port', neutron_exc.ServiceUnavailable(),
            'nova.tests.fixtures.NeutronFixture.show_port')

    def test_an_image_service_that_is_broken_is_told(self):
        self._assert_told_of(
            'image service', glance_exc.HTTPInternalServerError('broken'),
            'nova.image.glance.API.get')

    def test_a_database_that_is_away_at_first_is_told(self):
        self._assert_told_of(
            'A database', db_exc.DBConnectionError(),
            'cell0_rebuild.move.lookup._read')

    def test_a_database_that_is_away_before_the_move_is_told(self):
        self._assert_told_of(
            'A database', db_exc.DBConnectionError(),
            'nova.objects.BlockDeviceMappingList.get_by_instance_uuid')

    def test_a_database_that_is_away_when_it_is_taken_back_is_told(self):
        def be_silent(*args):
            raise exceptions.NoConductor('no answer')

        def be_away(*args):
            raise db_exc.DBConnectionError()
        self.stub_out('cell0_rebuild.rpcapi.RebuildAPI.'
                      'rebuild_instance_in_cell0', be_silent)
        self.stub_out('cell0_rebuild.move.api_db.take', be_away)
        self.assertIn('a database does not answer',
                      self.assert_refused(409, self.server))
        self.assert_shown_once(self.server['id'], 'BUILD')

    def test_a_lost_answer_and_a_hiccup_of_the_database_build_it(self):
        def lose(*args):
            raise exceptions.NoConductor('no answer')

        def be_away(*args):
            raise db_exc.DBConnectionError()
        self.useFixture(base.Interception(
            'cell0_rebuild.rpcapi.RebuildAPI.rebuild_instance_in_cell0',
            after=lose))
        hiccup = self.useFixture(base.Interception(
            'cell0_rebuild.move.api_db.answer', before=be_away))
        self.rebuild(self.server)
        self.active(self.server)
        self.assertNotIn('before', hiccup.waiting())

    def _assert_told_of(self, service, error, where):
        """Check the answer when the calls of a function fail."""
        before = databases.dump()
        with base.fixtures.MockPatch(where, side_effect=error):
            answer = self.assert_refused(409, self.server)
        self.assertIn(service, answer)
        self.assertIn('ry again later', answer)
        self.assertEqual(
            [], databases.differences(before, databases.dump()))
