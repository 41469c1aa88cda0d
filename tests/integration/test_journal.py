# SPDX-License-Identifier: Apache-2.0

"""The entry of an attempt, while others use the same database.

Creates of other servers insert rows beside those that a step locks. A second
process, maybe on another node of a cluster, makes a step at the same time.
"""

from concurrent import futures
import datetime

import ddt
from nova.db.api import api as api_db_api
from nova.db.api import models
from nova import objects
from oslo_db import exception as db_exc
from oslo_utils.fixture import uuidsentinel
from oslo_utils import uuidutils

from cell0_rebuild.move import api_db
from cell0_rebuild.move import location
from cell0_rebuild.move import mapped_db
from tests.integration import meetings
from tests.integration import specs_base

setUpModule = meetings.start_server

ATTEMPT = specs_base.ATTEMPT
# A create needs a part of it, in seconds.
_PATIENCE = 15


class JournalTestCase(specs_base.SpecTestCase):
    """A server is on its way."""

    def setUp(self):
        super().setUp()
        self.keep_files()
        self.send()
        # A transaction belongs to a context.
        self.holder = self.another_context()

    # The steps, as their holder makes them.

    def hold(self):
        with location.held(self.holder, self.uuid):
            return True

    def take(self):
        return api_db.take(self.holder, self.uuid, ATTEMPT)

    def refresh(self):
        return api_db.refresh(
            self.holder, self.uuid, self.entry, uuidsentinel.cell)

    def answer(self):
        return api_db.answer(self.holder, self.uuid, ATTEMPT)

    def take_over(self):
        return api_db.take_over(
            self.holder, self.uuid, datetime.datetime.max, 'recover', None)

    def end(self):
        return api_db.end(
            self.holder, self.uuid, self.entry, None, lambda *last: None)

    def to_cell0(self):
        return api_db.to_cell0(
            self.holder, self.uuid, self.entry, None, lambda last: None)

    def clear_cells(self):
        return mapped_db.clear_cells(self.holder, self.uuid, self.entry, ())


STEPS = ('hold', 'take', 'refresh', 'answer', 'take_over', 'end', 'to_cell0',
         'clear_cells')


@ddt.ddt
class CreateTest(JournalTestCase):
    """Another server is created while a step is not committed yet."""

    def setUp(self):
        super().setUp()
        # MariaDB locks the gap before a row, too. Of all UUIDs, that is next
        # to nothing, but not in a database with a few rows.
        self.other = f'ffffffff{uuidutils.generate_uuid()[8:]}'

    def create_another(self):
        """Store what nova-api stores for a create, and delete it."""
        context, uuid = self.another_context(), self.other
        self.create(instance_uuid=uuid)
        mapping = objects.InstanceMapping(
            context, instance_uuid=uuid, project_id='fake', user_id='fake')
        mapping.create()
        build_request = objects.BuildRequest(
            context, instance_uuid=uuid, project_id='fake',
            instance=objects.Instance(uuid=uuid, project_id='fake'))
        build_request.create()
        build_request.destroy()
        mapping.destroy()

    def is_created_beside(self, step):
        """Return whether another is created before a step is committed."""
        with futures.ThreadPoolExecutor(1) as executor:
            with api_db_api.context_manager.writer.using(self.holder):
                step()
                created = executor.submit(self.create_another)
                is_created = bool(futures.wait([created], _PATIENCE).done)
            created.result(60)
        return is_created

    @ddt.data(*STEPS)
    def test_it_does_not_wait_for(self, step):
        self.assertTrue(self.is_created_beside(getattr(self, step)))

    @ddt.data(*STEPS)
    def test_if_the_owner_has_deleted_the_other_it_does_not_wait_for(
            self, step):
        objects.BuildRequest.get_by_instance_uuid(
            self.context, self.uuid).destroy()
        self.assertTrue(self.is_created_beside(getattr(self, step)))

    def test_it_does_not_wait_for_what_looks_for_one_that_is_gone(self):
        objects.BuildRequest.get_by_instance_uuid(
            self.context, self.uuid).destroy()
        mapped_db.erase(self.context, self.uuid)
        self.assertIsNone(location.place(self.context, self.uuid))
        with futures.ThreadPoolExecutor(1) as executor:
            with location.held(self.holder, self.uuid):
                created = executor.submit(self.create_another)
                is_created = bool(futures.wait([created], _PATIENCE).done)
            created.result(60)
        self.assertTrue(is_created)

    def test_it_would_wait_for_a_lock_on_what_is_not_there(self):
        def lock_nothing():
            self.holder.session.query(models.BuildRequest).filter_by(
                instance_uuid=self.other).with_for_update().first()
        self.assertFalse(self.is_created_beside(lock_nothing))


@ddt.ddt
class TwoNodesTest(JournalTestCase):
    """Two processes make a step at the same time, each at its own node.

    A cluster lets both go on until they commit: the other node sees no lock.
    It refuses the second, if both have changed the same row.
    """

    snapshot_isolation = True

    def meet_take_over(self, step):
        """Let a recovery take the attempt over within a step.

        :raises DBDeadlock: if the step was refused.
        """
        with api_db_api.context_manager.writer.using(self.holder):
            # Like this, it has the state from before.
            self.holder.session.query(models.RequestSpec).filter_by(
                instance_uuid=self.uuid).first()
            with futures.ThreadPoolExecutor(1) as executor:
                executor.submit(
                    api_db.take_over, self.another_context(), self.uuid,
                    datetime.datetime.max, 'recover', None).result(60)
            step()

    # To take is tried again by itself.
    @ddt.data('refresh', 'answer', 'end', 'to_cell0', 'clear_cells')
    def test_the_second_is_refused_and_then_finds_another_holder(self, step):
        self.assertRaises(
            db_exc.DBDeadlock, self.meet_take_over, getattr(self, step))
        self.assertEqual(
            'recover', api_db.entry(self.another_context(), self.uuid).holder)
        # When it is tried again; to answer is nova-api's.
        found = getattr(self, step)()
        self.assertEqual(step == 'answer', bool(found))

    @ddt.data('take', 'refresh', 'answer', 'take_over', 'clear_cells')
    def test_every_step_changes_the_row_that_all_change(self, step):
        # Also within one second, when nothing else of it changes.
        for _ in range(2):
            before = self.blob(self.uuid)
            getattr(self, step)()
            self.assertNotEqual(before, self.blob(self.uuid))
            entry = api_db.entry(self.another_context(), self.uuid)
            entry.holder = self.entry.holder
            self.store_entry(entry)


    def test_of_two_conductors_the_second_has_nothing(self):
        def take():
            return api_db.take(self.another_context(), self.uuid, ATTEMPT)
        with futures.ThreadPoolExecutor(2) as executor:
            found = [taken.result(60) for taken in [
                executor.submit(take) for _ in range(2)]]
        self.assertEqual(1, found.count(None))
