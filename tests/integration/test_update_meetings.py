# SPDX-License-Identifier: Apache-2.0

"""An owner updates a server on its way when it is handed over.

The hand-over deletes the build request that the update is to write.
"""

from nova import exception
from nova import objects
from oslo_config import cfg

from cell0_rebuild import conf
from cell0_rebuild.move import api_db
from tests.integration import meetings
from tests.integration import specs_base

setUpModule = meetings.start_server


class UpdateMeetingsTest(specs_base.SpecTestCase):

    extensions = ('objects', 'api')

    def setUp(self):
        conf.register(cfg.CONF)
        super().setUp()
        self.send()

    def put(self):
        """Return a PUT that has read the build request and is to write it."""
        build_request = objects.BuildRequest.get_by_instance_uuid(
            self.another_context(), self.uuid)
        build_request.instance.display_name = 'put'
        return build_request.save

    def hand_over(self):
        """Map the server to a cell; note what was changed until then."""
        cell = objects.CellMapping(
            self.another_context(), uuid=self.uuid, transport_url='fake:///',
            database_connection='fake:///')
        cell.create()
        self.noted = []
        self.assertTrue(api_db.end(
            self.another_context(), self.uuid, self.entry, cell.id,
            lambda entry, last: self.noted.append(last.get('display_name'))))

    def test_what_a_put_writes_before_the_hand_over_is_noted(self):
        self.meet(self.hand_over, self.put(), 'SELECT build_requests')
        self.assertEqual(['put'], self.noted)

    def test_a_put_that_writes_later_finds_no_build_request(self):
        # Nova's PUT then goes to the cell that the server is mapped to.
        self.assertRaises(
            exception.BuildRequestNotFound, self.meet, self.hand_over,
            self.put(), 'UPDATE instance_mappings')
        self.assertEqual([None], self.noted)


class SnapshotIsolationUpdateMeetingsTest(UpdateMeetingsTest):
    snapshot_isolation = True
