# SPDX-License-Identifier: Apache-2.0

"""An owner updates a server on its way when a step of the move writes it.

Both write the build request: Nova the whole instance, the step what it notes.
"""

import datetime

from nova import exception
from nova import objects
from oslo_config import cfg

from cell0_rebuild import conf
from cell0_rebuild.move import api_db
from cell0_rebuild.move import attempt_record
from tests.integration import meetings
from tests.integration import specs_base

setUpModule = meetings.start_server

GENERATION = specs_base.GENERATION


class UpdateMeetingsTest(specs_base.SpecTestCase):

    extensions = ('objects', 'api')

    def setUp(self):
        conf.register(cfg.CONF)
        super().setUp()
        self.send()

    def found(self):
        """Return the build request as it is stored."""
        return objects.BuildRequest.get_by_instance_uuid(
            self.another_context(), self.uuid)

    def record(self):
        """Return what is noted of the attempt."""
        return attempt_record.of(self.found().instance)

    def put(self):
        """Return a PUT that has read the build request and is to write it."""
        build_request = self.found()
        build_request.instance.display_name = 'put'
        return build_request.save

    def meet_put(self, step):
        """Let a PUT read the build request before a step, and write after."""
        self.meet(self.put(), step, 'SELECT build_requests')

    def meet_step(self, step, statement='UPDATE build_requests'):
        """Let a step read the build request before a PUT, and write after."""
        self.meet(step, self.put(), statement)

    def assert_put(self):
        """Check that what the owner wrote is stored."""
        self.assertEqual('put', self.found().instance.display_name)

    def assert_taken(self):
        """Check that a conductor has the attempt, and the PUT is stored."""
        self.assertIn('a conductor', self.record().taken_by)
        self.assert_accepted()
        self.assert_put()

    def test_a_put_that_writes_after_a_conductor_took_it_leaves_that(self):
        self.meet_put(self.take())
        self.assert_taken()

    def test_a_conductor_that_takes_it_after_a_put_leaves_what_it_wrote(self):
        self.meet_step(self.take())
        self.assert_taken()

    def seize(self):
        """Take the attempt from the process that has it."""
        self.assertIsNotNone(api_db.seize(
            self.another_context(), self.uuid, datetime.datetime.max,
            'recover'))

    def assert_seized(self):
        """Check that the attempt has another owner, and the PUT is stored."""
        self.assertNotEqual(GENERATION, self.record().generation)
        self.assert_put()

    def test_a_put_that_writes_after_recover_took_it_leaves_that(self):
        self.meet_put(self.seize)
        self.assert_seized()

    def test_a_recover_that_takes_it_after_a_put_leaves_what_it_wrote(self):
        self.meet_step(self.seize)
        self.assert_seized()

    def hand_over(self):
        """Map the server to a cell; note what was changed until then."""
        cell = objects.CellMapping(
            self.another_context(), uuid=self.uuid, transport_url='fake:///',
            database_connection='fake:///')
        cell.create()
        self.noted = []

        def note(last):
            self.noted.append(last.get('display_name'))
            return self.record()
        self.assertTrue(api_db.end(
            self.another_context(), self.uuid, GENERATION, cell.id, note))

    def test_what_a_put_writes_before_the_hand_over_is_noted(self):
        self.meet_step(self.hand_over, 'SELECT build_requests')
        self.assertEqual(['put'], self.noted)

    def test_a_put_that_writes_later_finds_no_build_request(self):
        # Nova's PUT then goes to the cell that the server is mapped to.
        self.assertRaises(
            exception.BuildRequestNotFound, self.meet, self.hand_over,
            self.put(), 'UPDATE instance_mappings')
        self.assertEqual([None], self.noted)


class SnapshotIsolationUpdateMeetingsTest(UpdateMeetingsTest):
    snapshot_isolation = True
