# SPDX-License-Identifier: Apache-2.0

"""A server that its owner updates while it is rebuilt."""

from nova import context as nova_context
from nova import objects

from tests.functional import base
from tests.functional.support import recover_base
from tests.functional.support import recovering
from tests.functional.support import updating


class UpdateTestCase(recover_base.RecoverTestCase):

    def setUp(self):
        super().setUp()
        updating.pin(self.server['id'])
        self.asked = {}

    def update(self, *args, **kwargs):
        """Change all that can be changed, again if it was before."""
        self.put(self.others())

    def update_but_zone(self, *args, **kwargs):
        """Change all but what is stored with the RequestSpec."""
        asked = self.others()
        asked.pop(updating.PINNED, None)
        self.put(asked)

    def others(self):
        """Return another value of all that can be changed."""
        return updating.everything({
            **self.api.get_server(self.server['id']), **self.asked})

    def put(self, asked):
        self.api.put_server(self.server['id'], {'server': dict(asked)})
        self.asked.update(asked)

    def assert_updated(self):
        """Check that nothing of it is lost."""
        self.assertIn('name', self.asked)
        self.assertEqual(self.asked, updating.shown(
            self.api.get_server(self.server['id']), self.asked))

    def at(self, step, when='before', act=None):
        """Change all, or do something else, at a step."""
        self.useFixture(base.Interception(step, **{when: act or self.update}))

    def write_late(self, **changed):
        """Read the build request before the server is whole in its cell.

        Write it just after that.
        """
        found = []

        def read(*args, **kwargs):
            found.append(objects.BuildRequest.get_by_instance_uuid(
                nova_context.get_admin_context(), self.server['id']))

        def save(*args, **kwargs):
            for name, value in changed.items():
                setattr(found[0].instance, name, value)
            found[0].save()
        self.at(recovering.TAGS, act=read)
        self.at(recovering.TAGS, 'after', act=save)

    def rebuild_now(self, **body):
        """Have the server rebuilt, and all be done when this returns."""
        self.rebuild(self.server, **body)
        self.late.deliver()
