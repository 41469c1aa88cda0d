# SPDX-License-Identifier: Apache-2.0

"""Two transactions change what is stored of a server at the same time.

REPEATABLE READ, which is MariaDB's default, lets a transaction read what was
there when it first read anything, and write what others have changed since.
"""

from unittest import mock

from nova import context as nova_context
from nova.db.api import api as api_db_api
from nova.db.main import api as main_db_api
from nova import objects
from oslo_db.sqlalchemy import exc_filters
from oslo_utils.fixture import uuidsentinel
from oslo_utils import timeutils
import sqlalchemy

from cell0_rebuild.move import api_db
from cell0_rebuild.move import attempt_record
from cell0_rebuild.move import cell0_db
from cell0_rebuild.move import cell_db
from cell0_rebuild.move import late_changes
from cell0_rebuild import objects as ours
from cell0_rebuild import retained
from tests.integration import meetings
from tests.unit import specs

setUpModule = meetings.start_server

FILES = [['/etc/motd', 'aGVsbG8=']]
GENERATION = 'this attempt'
IMAGE = uuidsentinel.new


class SpecTestCase(specs.TestCase):
    """A server has a RequestSpec and, where it is needed, a build request."""

    snapshot_isolation = False

    def use_databases(self):
        self.useFixture(meetings.Databases(self.snapshot_isolation))

    def setUp(self):
        super().setUp()
        # As it is stored by a create, all in it says it is changed.
        self.uuid = self.create(
            availability_zone='a zone',
            image=objects.ImageMeta(id=uuidsentinel.old))

    def meet(self, first, second, statement='UPDATE request_specs'):
        """Let two functions meet before a statement of the first."""
        meetings.meet(api_db_api.get_engine(), statement, first, second)

    def another_context(self):
        """Return a context for another transaction."""
        return nova_context.get_admin_context()

    def put_zone(self):
        """Return a PUT that has read the RequestSpec and is to write it."""
        spec = objects.RequestSpec.get_by_instance_uuid(
            self.another_context(), self.uuid)
        spec.availability_zone = None
        return spec.save

    def keep_files(self):
        """Keep what a burial would lose."""
        ours.keep(self.another_context(), {self.uuid: retained.Retained(
            specs.some_networks(), injected_files=FILES)})

    def forget(self):
        """Forget it."""
        ours.forget(self.another_context(), self.uuid)

    def send(self):
        """Move the server to a build request."""
        instance = objects.Instance(
            uuid=self.uuid, project_id='fake', system_metadata={})
        attempt_record.Mark(GENERATION, [], {}).put_on(instance)
        objects.InstanceMapping(
            self.context, instance_uuid=self.uuid, project_id='fake',
            user_id='fake').create()
        objects.BuildRequest(
            self.context, instance=instance, instance_uuid=self.uuid,
            project_id='fake', updated_at=timeutils.utcnow()).create()

    def assert_retained(self, expected=True):
        """Check whether all that was kept is there."""
        retained = self.load(self.uuid).retained
        self.assertEqual(expected, retained is not None)
        if expected:
            self.assertEqual(FILES, retained.injected_files)

    def assert_zone_is_gone(self):
        """Check that what the PUT was to change has changed."""
        self.assertIsNone(self.load(self.uuid).availability_zone)


    def take(self):
        """Return a function that accepts a rebuild which changes the spec."""
        spec = objects.RequestSpec.get_by_instance_uuid(
            self.another_context(), self.uuid)
        spec.obj_reset_changes(recursive=True)
        spec.num_instances = 7
        spec.image = objects.ImageMeta(id=IMAGE)

        def take():
            self.assertIsNotNone(api_db.take(
                self.another_context(), self.uuid, GENERATION, 'a conductor',
                spec))
        return take

    def assert_accepted(self):
        """Check that what the rebuild changes is stored."""
        found = self.load(self.uuid)
        self.assertEqual((7, IMAGE), (found.num_instances, found.image.id))


class LostUpdatesTest(SpecTestCase):

    def test_a_put_of_one_that_was_never_buried_locks_nothing(self):
        stock, ours = self.costs_of_a_save()
        self.assertEqual(['SELECT', 'UPDATE'], [
            text.split()[0] for text in ours])
        self.assertEqual(stock, ours)

    def test_a_put_that_writes_after_a_burial_leaves_what_is_kept(self):
        self.meet(self.put_zone(), self.keep_files)
        self.assert_retained()
        self.assert_zone_is_gone()

    def test_a_burial_that_writes_after_a_put_leaves_what_that_changed(self):
        self.meet(self.keep_files, self.put_zone())
        self.assert_retained()
        self.assert_zone_is_gone()

    def test_a_put_that_writes_after_the_end_brings_nothing_back(self):
        self.keep_files()
        self.meet(self.put_zone(), self.forget)
        self.assert_retained(False)
        self.assert_zone_is_gone()

    def test_the_end_that_writes_after_a_put_leaves_what_that_changed(self):
        self.keep_files()
        self.meet(self.forget, self.put_zone())
        self.assert_retained(False)
        self.assert_zone_is_gone()

    def end(self):
        """Hand the server over; its last mark stays with what is kept."""
        ended = api_db.end(
            self.another_context(), self.uuid, GENERATION,
            attempt_record.Mark(GENERATION, ['display_name'], {}))
        self.assertIsNotNone(ended)

    def assert_marked(self):
        """Check that the mark is with what is kept."""
        self.assertEqual(
            ['display_name'],
            ours.retained_mark(self.context, self.uuid).get('changed'))

    def test_a_put_that_writes_after_the_hand_over_leaves_its_mark(self):
        self.keep_files()
        self.send()
        self.meet(self.put_zone(), self.end)
        self.assert_marked()
        self.assert_retained()
        self.assert_zone_is_gone()

    def test_the_hand_over_that_writes_after_a_put_leaves_its_change(self):
        self.keep_files()
        self.send()
        self.meet(self.end, self.put_zone())
        self.assert_marked()
        self.assert_retained()
        self.assert_zone_is_gone()

    def test_a_put_that_writes_after_a_rebuild_is_accepted_leaves_it(self):
        self.keep_files()
        self.send()
        self.meet(self.put_zone(), self.take())
        self.assert_accepted()
        self.assert_retained()
        self.assert_zone_is_gone()

    def test_a_rebuild_that_is_accepted_after_a_put_leaves_its_change(self):
        self.keep_files()
        self.send()
        self.meet(self.take(), self.put_zone())
        self.assert_accepted()
        self.assert_retained()
        self.assert_zone_is_gone()

    def test_a_put_just_before_a_rebuild_is_accepted_is_left(self):
        self.keep_files()
        self.send()
        self.meet(self.take(), self.put_zone(), 'SELECT request_specs')
        self.assert_accepted()
        self.assert_zone_is_gone()


class SnapshotIsolationTest(LostUpdatesTest):
    snapshot_isolation = True


class GraveTestCase(specs.TestCase):
    """A server is hidden in cell0, and its rebuild is about to end."""

    snapshot_isolation = False

    def use_databases(self):
        self.useFixture(meetings.Databases(self.snapshot_isolation))

    def setUp(self):
        super().setUp()
        self.instance = objects.Instance(
            self.context, project_id='fake', user_id='fake',
            system_metadata={'many': 'entries'})
        self.instance.create()
        self.bdm = objects.BlockDeviceMapping(
            self.context, instance_uuid=self.instance.uuid,
            source_type='image', destination_type='volume',
            delete_on_termination=False)
        self.bdm.create()
        self.late = []

    def close(self):
        """End it; note what was changed since it began."""
        context = nova_context.get_admin_context()
        baseline = cell0_db.state(context, self.instance.uuid)

        def carry_over(late):
            self.late.append(late)
            return True

        def close():
            cell0_db.close(context, self.instance.uuid, baseline, carry_over)
        return close

    def assert_carried_over(self, change, **expected):
        """Check that a change at the end either fails or is carried over."""
        refused = []

        def try_to_change():
            try:
                change()
            except Exception as error:
                refused.append(error)

        meetings.meet(main_db_api.get_engine(), 'UPDATE instances',
                      self.close(), try_to_change)
        self.assertEqual({} if refused else expected, self.late[-1])
        self.assertIsNone(cell_db._find(self.context, self.instance.uuid))

    def assert_lock_is_carried_over_or_refused(self):
        """Lock the server when its row in cell0 is about to go."""
        self.instance.system_metadata = dict(
            {str(number): 'a value' for number in range(50)},
            locked_reason='because')
        self.instance.locked = True
        self.assert_carried_over(
            self.instance.save, locked=True, locked_reason='because')


class GraveTest(GraveTestCase):

    def test_a_flag_of_a_volume_is_carried_over_or_refused(self):
        self.bdm.delete_on_termination = True
        self.assert_carried_over(
            self.bdm.save, delete_on_termination={self.bdm.uuid: True})

    def test_a_lock_is_carried_over_or_refused(self):
        self.assert_lock_is_carried_over_or_refused()


class MetadataTest(GraveTestCase):
    """A lock by Nova meets a change by us of the same system metadata."""

    def lock(self):
        """Lock the server."""
        self.instance.locked = True
        self.instance.system_metadata['locked_reason'] = 'because'
        self.instance.save()

    def change(self):
        """Return a change that has read the server and is to write it."""
        instance = self.load()
        change = late_changes.saved(self.another_context(), instance)
        change.__enter__()
        instance.display_name = 'changed'
        instance.system_metadata['image_min_disk'] = '7'
        del instance.system_metadata['many']

        def save():
            change.__exit__(None, None, None)
        return save

    def load(self):
        """Return the instance as it is now."""
        return objects.Instance.get_by_uuid(
            self.another_context(), self.instance.uuid)

    def another_context(self):
        """Return a context for another transaction."""
        return nova_context.get_admin_context()

    def assert_both_are_there(self):
        """Check that neither has undone the other one."""
        found = self.load()
        self.assertEqual((True, 'changed'), (found.locked, found.display_name))
        self.assertEqual(
            {'locked_reason': 'because', 'image_min_disk': '7'},
            found.system_metadata)

    def test_a_lock_that_comes_before_a_change_is_left(self):
        change = self.change()
        self.lock()
        change()
        self.assert_both_are_there()

    def test_a_lock_that_meets_a_change_is_left(self):
        meetings.meet(main_db_api.get_engine(),
                      'DELETE FROM instance_system_metadata',
                      self.change(), self.lock)
        self.assert_both_are_there()


class SnapshotIsolationMetadataTest(MetadataTest):
    snapshot_isolation = True


class SnapshotIsolationGraveTest(GraveTest):
    snapshot_isolation = True


class OlderOsloTest(GraveTestCase):
    snapshot_isolation = True

    def setUp(self):
        super().setUp()
        known = exc_filters._registry['mysql']
        error = sqlalchemy.exc.OperationalError
        older = mock.patch.dict(known, {error: [
            (function, expression) for function, expression in known[error]
            if function.__name__ != '_mariadb_consistency_error']})
        older.start()
        self.addCleanup(older.stop)

    def test_an_error_that_it_does_not_know_is_a_reason_to_try_again(self):
        self.assert_lock_is_carried_over_or_refused()
