# SPDX-License-Identifier: Apache-2.0

"""Whether a compute with libvirt can tell that it has no guest of a server.

It is asked for the console log, which needs a guest, in whatever power state;
see doc/source/contributor/never-launched.rst.
"""

from nova.compute import rpcapi
from nova.compute import vm_states
from nova import context as nova_context
from nova.db.main import models
from nova import exception
from nova import objects
from nova.tests.functional.libvirt import base as libvirt_base

from cell0_rebuild import cells
from tests.functional import base
from tests.functional.support import databases


class GuestTest(base.Cell0RebuildMixin, libvirt_base.ServersTestBase):

    # The suite enables the package around each test, or not.
    enabled = False
    ADMIN_API = True
    CAST_AS_CALL = False

    def setUp(self):
        super().setUp()
        self.host = self.start_compute()
        self.server = self._create_server(networks='none')
        # As the row of a server of which the build has failed.
        databases.update(
            'cell1', models.Instance, self.server['id'], host=None,
            vm_state=vm_states.ERROR, launched_at=None)
        self.before = databases.dump()

    def ask(self):
        """Call the compute, of which the row does not tell."""
        context = cells.targeted(
            nova_context.get_admin_context(), self.cell_mappings['cell1'])
        row = objects.Instance.get_by_uuid(context, self.server['id'])
        api = rpcapi.ComputeAPI()
        return api.router.client(context).prepare(
            server=self.host, version=api._ver(context, '5.0')).call(
                context, 'get_console_output', instance=row, tail_length=0)

    def domain(self):
        """Return the guest, as libvirt has it."""
        return self.computes[self.host].driver._host.get_connection(
            ).lookupByUUIDString(self.server['id'])

    def test_a_guest_is_told(self):
        self.assertEqual('', self.ask())
        self.assertEqual(self.before, databases.dump())

    def test_a_guest_that_does_not_run_is_told(self):
        self.domain().suspend()
        self.assertEqual('', self.ask())
        self.assertEqual(self.before, databases.dump())

    def test_that_there_is_none_is_told_and_nothing_written(self):
        domain = self.domain()
        domain.destroy()
        domain.undefine()
        self.assertRaises(exception.InstanceNotFound, self.ask)
        self.assertEqual(self.before, databases.dump())
