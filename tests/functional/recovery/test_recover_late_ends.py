# SPDX-License-Identifier: Apache-2.0

"""A conductor ends an attempt that a recovery has just taken over."""

import threading

from nova import context as nova_context
from nova import objects

from cell0_rebuild.move import api_db
from cell0_rebuild.move import attempt as attempts
from tests.functional import base
from tests.functional.support import databases
from tests.functional.support import recover_base
from tests.functional.support import recovering

_PATIENCE = 20


class LateEndTest(recover_base.RecoverTestCase):

    def setUp(self):
        super().setUp()
        self.rebuild_until(recovering.CAST, before=recovering.crash)
        self.removing, self.taken, self.removed, self.go_on = (
            threading.Event() for _ in range(4))
        self.addCleanup(self.go_on.set)
        self.conductor = threading.Thread(target=self.finish(
            nova_context.get_admin_context()))
        for function, before, after in (
                (recovering.REMOVE_HIDDEN, self.remove_late, None),
                (recovering.TAKE_OVER, self.begin, self.let_remove),
                (recovering.FORGET, self.forget_late, None)):
            self.useFixture(base.Interception(
                function, before=before, after=after))

    def finish(self, context):
        """Return what is left to do of the conductor that has cast."""
        uuid = self.server['id']
        mine = attempts.Attempt.interrupted(uuid, api_db.entry(context, uuid))
        cell = objects.InstanceMapping.get_by_instance_uuid(
            context, uuid).cell_mapping
        return lambda: attempts.finish(context, mine, cell)

    def begin(self, *args, **kwargs):
        """Let the conductor begin before the recovery takes over."""
        self.conductor.start()
        self.removing.wait(_PATIENCE)

    def remove_late(self, *args, **kwargs):
        """Remove the row in cell0 when the recovery has taken over."""
        self.removing.set()
        self.taken.wait(_PATIENCE)

    def let_remove(self, *args, **kwargs):
        """Let the conductor go on until the row in cell0 is removed."""
        self.taken.set()
        self.removed.wait(_PATIENCE)

    def forget_late(self, *args, **kwargs):
        """Forget when the recovery goes on."""
        self.removed.set()
        if threading.current_thread() is self.conductor:
            self.go_on.wait(_PATIENCE)

    def let_forget(self, *args, **kwargs):
        """Let the conductor end, and then the recovery go on."""
        self.go_on.set()
        self.conductor.join(_PATIENCE)

    def test_the_server_is_found_by_its_owner(self):
        recovering.recover()
        self.let_forget()
        self.assertFalse(self.conductor.is_alive())
        self.assertEqual('cell1', databases.cell_of(self.server['id']))
        self.assertEqual(
            'BUILD', self.api.get_server(self.server['id'])['status'])

    def test_nothing_is_left_of_the_rebuild(self):
        code, found = recovering.recover()
        self.let_forget()
        self.assertEqual((0, 'built'), (
            code, found[self.server['id']]['state']))
        self.assertIsNone(databases.spec_of(self.server['id']).retained)
