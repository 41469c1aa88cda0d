# SPDX-License-Identifier: Apache-2.0

"""A process dies while a server that was handed over leaves its cell.

Its row in cell0 is shown just before the one in its cell goes. Until the
burial has ended nobody rebuilds it.
"""

import ddt
from nova.db.main import models

from tests.functional import base
from tests.functional.support import databases
from tests.functional.support import recover_base
from tests.functional.support import recovering


@ddt.ddt
class ReturningTest(recover_base.RecoverTestCase):

    def die(self, step):
        """Have the burial die after a step; the message was not sent."""
        self.useFixture(base.Interception(
            recovering.CAST, before=recovering.fail))
        self.rebuild_until(step, after=recovering.crash)

    def list(self):
        """Return the IDs of the servers that are listed."""
        return [server['id'] for server in self.api.get_servers()]

    @ddt.data(
        ('shown', recovering.SHOW), ('removed', recovering.REMOVE))
    @ddt.unpack
    def test_it_is_listed_once_and_not_rebuilt_before_it_is_recovered(
            self, _name, step):
        self.die(step)
        self.assertEqual([self.server['id']], self.list())
        self.assertEqual(
            'ERROR', self.api.get_server(self.server['id'])['status'])
        self.assert_refused_without_trace(409, self.server)
        self.assert_recovered('hidden')
        self.assert_can_be_rebuilt()

    @ddt.data(
        ('shown', recovering.SHOW), ('removed', recovering.REMOVE))
    @ddt.unpack
    def test_its_owner_can_delete_it(self, _name, step):
        self.die(step)
        self.api.delete_server(self.server['id'])
        self.assertEqual([], self.list())
        self.assertEqual(0, recovering.recover()[0])
        self.assert_gone()

    def test_a_compute_that_gets_it_late_keeps_it(self):
        self.die(recovering.SHOW)
        databases.update(
            'cell1', models.Instance, self.server['id'], host='host1')
        code, found = recovering.recover()
        self.assertEqual((0, 'built'), (
            code, found[self.server['id']]['state']))
        self.assertEqual('cell1', databases.cell_of(self.server['id']))
        self.assertEqual([], databases.dump()['cell0']['instances'])
        self.assertIsNone(databases.spec_of(self.server['id']).retained)

    def test_one_that_is_buried_shows_no_task(self):
        self.useFixture(base.Interception(
            recovering.CAST, before=recovering.fail))
        self.rebuild(self.server)
        self.late.deliver()
        self.assert_buried()
        self.assertIsNone(self.api.get_server(self.server['id'])[
            'OS-EXT-STS:task_state'])
        self.assert_can_be_rebuilt()
