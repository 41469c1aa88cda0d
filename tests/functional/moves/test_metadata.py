# SPDX-License-Identifier: Apache-2.0

"""What others write to the system metadata of a server stays there.

Nova saves all of the system metadata of an instance at once.
"""

from nova import context as nova_context
from nova import objects

from cell0_rebuild import cells
from tests.functional import base
from tests.functional.support import databases
from tests.functional.support import recover_base
from tests.functional.support import recovering

# Between a read of an instance and its save.
UPDATE = recovering.UPDATE
NOTE = {'noted': 'by somebody'}


def note(instance):
    """Add something to an instance that somebody has read."""
    instance.system_metadata.update(NOTE)
    instance.save()


def lock(instance, holder=None):
    """Lock a server as a request does that has read the instance.

    :param holder: what is saved if it is not the instance itself.
    """
    instance.locked, instance.locked_by = True, 'owner'
    instance.system_metadata['locked_reason'] = 'because'
    (holder or instance).save()


class MetadataTest(recover_base.RecoverTestCase):

    def at(self, step, act, when='before'):
        """Have something done at a step."""
        return self.useFixture(base.Interception(
            step, **{when: lambda *args, **kwargs: act()}))

    def in_its_cell(self):
        """Return the instance in the real cell, as it is now."""
        context = nova_context.get_admin_context()
        mapping = objects.InstanceMapping.get_by_instance_uuid(
            context, self.server['id'])
        return objects.Instance.get_by_uuid(
            cells.targeted(context, mapping.cell_mapping), self.server['id'])

    def in_cell0(self):
        """Return the instance in cell0, as it is now."""
        return databases.in_cell0(self.server['id'])

    def assert_noted(self, instance):
        """Check that what was added is there."""
        self.assertEqual(NOTE, {
            key: value for key, value in instance.system_metadata.items()
            if key in NOTE})

    def rebuild_now(self, **body):
        """Have the server rebuilt, and all be done when this returns."""
        self.rebuild(self.server, **body)
        self.late.deliver()

    def test_a_lock_while_a_failed_rebuild_is_kept_keeps_its_reason(self):
        image = self.glance.auto_disk_config_enabled_image['id']
        self.at(recovering.SCHEDULER, recovering.fail)
        met = self.at(UPDATE, lambda: lock(self.in_cell0()), 'after')
        self.rebuild_now(imageRef=image)
        self.assertEqual([], met.waiting())
        server = self.buried_again(self.server)
        self.assertEqual((True, 'because', image), (
            server['locked'], server['locked_reason'], server['image']['id']))
        self.assertEqual(image, self.in_cell0().system_metadata[
            'image_base_image_ref'])

    def test_a_note_while_a_late_change_is_kept_stays(self):
        def change():
            request = objects.BuildRequest.get_by_instance_uuid(
                nova_context.get_admin_context(), self.server['id'])
            lock(request.instance, request)
            self.at(UPDATE, lambda: note(self.in_cell0()), 'after')
        self.at(recovering.SCHEDULER, recovering.fail)
        self.at(recovering.BACK, change)
        self.rebuild_now()
        server = self.buried_again(self.server)
        self.assertEqual('because', server['locked_reason'])
        self.assert_noted(self.in_cell0())

    def test_a_note_while_a_lock_is_carried_to_the_cell_stays(self):
        locking = self.in_cell0()

        def finish():
            self._wait_for_state_change(self.server, 'ACTIVE')
            lock(locking)
            self.at(UPDATE, lambda: note(self.in_its_cell()), 'after')
        self.at(recovering.FINISH, finish)
        self.rebuild_now()
        server = self.active(self.server)
        self.assertEqual((True, 'because'), (
            server['locked'], server['locked_reason']))
        self.assert_noted(self.in_its_cell())

    def test_an_unlock_before_a_hand_over_fails_leaves_no_reason(self):
        lock(self.in_cell0())

        def unlock():
            instance = self.in_its_cell()
            instance.locked, instance.locked_by = False, None
            del instance.system_metadata['locked_reason']
            instance.save()
            recovering.fail()
        self.at(recovering.CAST, unlock)
        self.api = self.admin_api
        self.rebuild_now()
        server = self.buried_again(self.server)
        self.assertEqual((False, None), (
            server['locked'], server['locked_reason']))
        self.assertNotIn('locked_reason', self.in_cell0().system_metadata)
