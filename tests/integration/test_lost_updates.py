# SPDX-License-Identifier: Apache-2.0

"""Two transactions change what is stored of a server at the same time.

REPEATABLE READ, which is MariaDB's default, lets a transaction read what was
there when it first read anything, and write what others have changed since.
"""

from unittest import mock

from nova import context as nova_context
from nova.db.main import api as main_db_api
from nova import exception
from nova import objects
from oslo_db import exception as db_exc
from oslo_db.sqlalchemy import exc_filters
import sqlalchemy
from sqlalchemy.orm import exc as orm_exc

from cell0_rebuild.move import api_db
from cell0_rebuild.move import cell0_db
from cell0_rebuild.move import cell_db
from cell0_rebuild.move import journal
from cell0_rebuild.move import late_changes
from tests.integration import meetings
from tests.integration import specs_base
from tests.unit import request_specs_base

setUpModule = meetings.start_server


class LostUpdatesTest(specs_base.SpecTestCase):

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
        self.map_server(self.uuid)
        self.meet(self.put_zone(), self.end_all)
        self.assert_retained(False)
        self.assert_zone_is_gone()

    def test_the_end_that_writes_after_a_put_leaves_what_that_changed(self):
        self.keep_files()
        self.map_server(self.uuid)
        self.meet(self.end_all, self.put_zone())
        self.assert_retained(False)
        self.assert_zone_is_gone()

    def end(self):
        """Delete the build request of the server, and note something."""
        def note(entry, last):
            entry.asked = {'display_name': 'put'}
        api_db.end(
            self.another_context(), self.uuid, self.entry, None, note)

    def assert_noted(self):
        """Check that the step was noted in the entry."""
        entry = api_db.entry(self.context, self.uuid)
        self.assertEqual(
            ({'display_name': 'put'}, 1), (entry.asked, entry.count))

    def test_a_put_that_writes_after_the_hand_over_leaves_its_entry(self):
        self.keep_files()
        self.send()
        self.meet(self.put_zone(), self.end)
        self.assert_noted()
        self.assert_retained()
        self.assert_zone_is_gone()

    def test_the_hand_over_that_writes_after_a_put_leaves_its_change(self):
        self.keep_files()
        self.send()
        self.meet(self.end, self.put_zone())
        self.assert_noted()
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
        self.meet(self.take(), self.put_zone(), 'SELECT instance_mappings')
        self.assert_accepted()
        self.assert_zone_is_gone()


class SnapshotIsolationTest(LostUpdatesTest):
    snapshot_isolation = True


class HiddenRowTestCase(request_specs_base.TestCase):
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
        baseline = cell0_db.watched(context, self.instance.uuid)

        def carry_over(watched):
            self.late.append(late_changes.changes(baseline, watched))
            return True

        def close():
            cell0_db.close(context, self.instance.uuid, carry_over)
        return close

    def meet(self, first, change):
        """Let a change meet what is done; return what refuses it, if any."""
        refused = []

        def try_to_change():
            try:
                change()
            except (exception.NotFound, db_exc.DBError,
                    orm_exc.StaleDataError) as error:
                refused.append(error)

        meetings.meet(main_db_api.get_engine(), 'UPDATE instances',
                      first, try_to_change)
        return refused

    def assert_carried_over(self, change, **expected):
        """Check that a change at the end either fails or is carried over."""
        refused = self.meet(self.close(), change)
        self.assertEqual({} if refused else expected, self.late[-1])
        self.assertIsNone(cell_db._find(self.context, self.instance.uuid))

    def assert_lock_is_carried_over_or_refused(self):
        """Lock the server when its row in cell0 is about to go."""
        self.instance.system_metadata = dict(
            {str(number): 'a value' for number in range(50)},
            locked_reason='because')
        self.instance.locked = True
        self.assert_carried_over(
            self.instance.save,
            locked=True, locked_by=None, locked_reason='because')


class HiddenRowTest(HiddenRowTestCase):

    def test_a_flag_of_a_volume_is_carried_over_or_refused(self):
        self.bdm.delete_on_termination = True
        self.assert_carried_over(
            self.bdm.save, delete_on_termination={self.bdm.uuid: True})

    def test_a_lock_is_carried_over_or_refused(self):
        self.assert_lock_is_carried_over_or_refused()


class RemovedRowTest(HiddenRowTestCase):
    """A server goes back to cell0 while its owner changes it in its cell."""

    def test_a_change_is_kept_or_refused(self):
        kept = []

        def remove():
            cell_db._destroy(
                nova_context.get_admin_context(), self.instance.uuid, None,
                kept.append, unless_deleted=False)

        self.instance.display_name = 'changed'
        refused = self.meet(remove, self.instance.save)
        self.assertEqual(
            None if refused else 'changed', kept[-1]['display_name'])
        self.assertIsNone(cell_db._find(self.context, self.instance.uuid))


class SnapshotIsolationRemovedRowTest(RemovedRowTest):
    snapshot_isolation = True


class MetadataTest(HiddenRowTestCase):
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


class RefusedValueTest(HiddenRowTestCase):
    """A build request takes what Nova's tables do not."""

    def test_a_burial_leaves_out_what_has_four_bytes(self):
        last = objects.Instance.get_by_uuid(
            self.context, self.instance.uuid,
            expected_attrs=['system_metadata'])
        entry = journal.Entry.new(asked=late_changes.watched(last))
        last.display_name, last.display_description = '\N{PARTY POPPER}', 'new'
        last.hostname = 'another'
        late_changes.keep_changes(
            nova_context.get_admin_context(), entry,
            objects.BlockDeviceMappingList(objects=[]), last)
        found = objects.Instance.get_by_uuid(
            nova_context.get_admin_context(), self.instance.uuid)
        self.assertEqual((None, 'new', 'another'), (
            found.display_name, found.display_description, found.hostname))


class SnapshotIsolationMetadataTest(MetadataTest):
    snapshot_isolation = True


class SnapshotIsolationHiddenRowTest(HiddenRowTest):
    snapshot_isolation = True


class OlderOsloTest(HiddenRowTestCase):
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
        self.assertEqual(2, len(self.late))
