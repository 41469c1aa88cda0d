# SPDX-License-Identifier: Apache-2.0

"""What is stored of a server, which two transactions want to change."""

from nova import context as nova_context
from nova.db.api import api as api_db_api
from nova import objects
from oslo_utils.fixture import uuidsentinel
from oslo_utils import timeutils

from cell0_rebuild.move import api_db
from cell0_rebuild.move import journal
from cell0_rebuild import objects as ours
from cell0_rebuild import retained
from cell0_rebuild import retained_db
from tests.integration import meetings
from tests.unit import request_specs_base
from tests.unit import specs

FILES = [['/etc/motd', 'aGVsbG8=']]
ATTEMPT = 'this attempt'
IMAGE = uuidsentinel.new


class SpecTestCase(request_specs_base.TestCase):
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

    def end_all(self):
        """Forget it, as the end of a rebuild does."""
        self.forget(self.uuid)

    def send(self):
        """Move the server to a build request."""
        instance = objects.Instance(
            uuid=self.uuid, project_id='fake', system_metadata={})
        self.entry = journal.Entry(ATTEMPT, ATTEMPT)
        journal.put_mark(instance, self.entry)
        self.store_entry(self.entry)
        objects.InstanceMapping(
            self.context, instance_uuid=self.uuid, project_id='fake',
            user_id='fake', updated_at=timeutils.utcnow()).create()
        objects.BuildRequest(
            self.context, instance=instance, instance_uuid=self.uuid,
            project_id='fake').create()

    def store_entry(self, entry):
        """Store the entry of an attempt as it is."""
        blob = self.blob(self.uuid)
        section = ours.section(blob) or {'version': retained.VERSION}
        self.write_blob(self.uuid, ours.with_section(
            blob, {**section, retained.ATTEMPT: entry.to_primitive()}))

    def assert_retained(self, expected=True):
        """Check whether all that was kept is there."""
        retained = self.load(self.uuid).retained
        self.assertEqual(expected, retained is not None)
        self.assertEqual(
            {self.uuid} if expected else set(),
            retained_db.among(self.another_context(), [self.uuid]))
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
                self.another_context(), self.uuid, ATTEMPT, spec))
        return take

    def assert_accepted(self):
        """Check that what the rebuild changes is stored."""
        found = self.load(self.uuid)
        self.assertEqual((7, IMAGE), (found.num_instances, found.image.id))
