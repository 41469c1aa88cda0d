# SPDX-License-Identifier: Apache-2.0

"""A server is held while something is done to it, and others want to move it.
"""

from concurrent import futures
import time

from nova.db.api import models
from nova import objects
from oslo_utils.fixture import uuidsentinel
from oslo_utils import timeutils

from cell0_rebuild.move import api_db
from cell0_rebuild.move import location
from cell0_rebuild.move import mapped_db
from tests.integration import meetings
from tests.integration import processes
from tests.integration import specs_base

setUpModule = meetings.start_server

ATTEMPT = specs_base.ATTEMPT


class HeldTest(specs_base.SpecTestCase):
    """Its build request waits for a conductor."""

    def setUp(self):
        super().setUp()
        self.keep_files()
        self.send()
        self.cell = objects.CellMapping(
            self.context, uuid=uuidsentinel.cell, name='a cell',
            transport_url='none:///', database_connection='sqlite://')
        self.cell.create()
        self.addCleanup(self.cell.destroy)
        self.addCleanup(self._unmap)

    def _unmap(self):
        objects.InstanceMapping.get_by_instance_uuid(
            self.another_context(), self.uuid).destroy()

    def assert_waits(self, move, at_last=lambda: None):
        """Check that a move is made when who holds the server lets go.

        :param at_last: what he does just before that.
        """
        with futures.ThreadPoolExecutor(1) as executor:
            with location.held(self.context, self.uuid):
                moved = executor.submit(move)
                processes.poll(lambda: moved.done() or meetings._is_waiting(),
                               'that the move waits')
                self.assertFalse(moved.done())
                at_last()
            self.assertTrue(moved.result(60))

    def test_a_conductor_that_takes_it_waits(self):
        self.assert_waits(lambda: api_db.take(
            self.another_context(), self.uuid, ATTEMPT))

    def test_a_hand_over_waits(self):
        self.assert_waits(self.hand_over)

    def test_a_burial_waits(self):
        self.assert_waits(lambda: api_db.to_cell0(
            self.another_context(), self.uuid, self.entry, self.cell.id,
            lambda last: None))

    def test_a_way_out_of_a_cell_waits(self):
        self.assertTrue(self.hand_over())
        self.assert_waits(lambda: mapped_db.remap(
            self.another_context(), self.uuid, self.entry, self.cell.id,
            None))

    def hand_over(self):
        """Map the server to its cell and return whether that was done."""
        return api_db.end(
            self.another_context(), self.uuid, self.entry, self.cell.id,
            lambda entry, last: None)

    def test_who_has_waited_for_it_sees_how_it_was_moved(self):
        found = []

        def hold():
            context = self.another_context()
            with location.held(context, self.uuid):
                found.append(location.place(context, self.uuid).cell_id)
        with futures.ThreadPoolExecutor(1) as executor:
            with api_db.api_db_api.context_manager.writer.using(self.context):
                self.context.session.query(
                    models.InstanceMapping).filter_by(
                    instance_uuid=self.uuid).update({'cell_id': self.cell.id})
                waiting = executor.submit(hold)
                processes.poll(meetings._is_waiting, 'that the other waits')
            waiting.result(60)
        self.assertEqual([self.cell.id], found)

    def test_a_recovery_that_has_waited_leaves_alone_what_went_on(self):
        self.assertTrue(self.hand_over())
        # A database stores whole seconds.
        time.sleep(1.5)
        before = timeutils.utcnow()

        def take_over():
            return api_db.take_over(
                self.another_context(), self.uuid, before, 'recover',
                self.cell.id) is None

        def go_on():
            time.sleep(1.5)
            mapped_db.touch(self.context, self.uuid, self.entry, self.cell.id)
        self.assert_waits(take_over, go_on)


class SnapshotIsolationTest(HeldTest):
    snapshot_isolation = True
