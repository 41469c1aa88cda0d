# SPDX-License-Identifier: Apache-2.0

"""Creates whose accelerators cannot be bound, before a compute is told.

Their owners reach them in their cells by then. With ``[cell0_rebuild] rebuild
= never_launched`` they are buried.
"""

import threading

import ddt
from nova import exception

from tests.functional import base
from tests.functional.moves import burials_base
from tests.functional.support import cyborg
from tests.functional.support import databases
from tests.functional.support import recovering

_MANAGER = 'nova.conductor.manager.ComputeTaskManager'
_BURY = f'{_MANAGER}._cleanup_build_artifacts'


@ddt.ddt
class UnboundTest(burials_base.OutcomeMixin, base.FunctionalTestCase):

    options = {'rebuild': 'never_launched'}

    def setUp(self):
        super().setUp()
        self.cyborg = self.useFixture(cyborg.Cyborg())
        self._start_compute('host1')
        self.flavor = self.cyborg.add_device(self)
        self.over = threading.Event()

    def fail(self, error=None):
        """Have Cyborg fail to bind, once; it has bound them if no error."""
        bind = self.cyborg.mock_bind_arqs.side_effect

        def fail(bindings):
            self.cyborg.mock_bind_arqs.side_effect = bind
            if error is None:
                bind(bindings)
                raise RuntimeError('no answer')
            raise error(arqs=list(bindings), msg='no')
        self.cyborg.mock_bind_arqs.side_effect = fail

    def create(self, **body):
        """Ask for a server with an accelerator."""
        return super().create(
            flavorRef=self.flavor,
            networks=[{'port': self.neutron.port_1['id']}], **body)

    def bury_one(self, **body):
        """Create a server, and wait until it is buried, with nothing left."""
        server = self.create(**body)
        self._wait_for_assert(lambda: self.assertEqual(
            ('cell0', [False], [], {}, {}), self.state(server)))
        return self._wait_for_state_change(server, 'ERROR')

    def state(self, server):
        """Return where a server is, and what it has anywhere else."""
        server_id = server['id']
        return (databases.cell_of(server_id), databases.hidden(server_id),
                databases.rows_with(server_id, databases.dump()['cell1']),
                self._get_allocations_by_server_uuid(server_id),
                self.cyborg.requests)

    def assert_comes_back(self, server):
        """Rebuild a server; check that it has one accelerator."""
        self.rebuild(server)
        rebuilt = self.active(server)
        self.assertEqual(1, len(self.cyborg.of(server['id'])))
        self.assertEqual(
            2, len(self._get_allocations_by_server_uuid(server['id'])))
        self.assertEqual(server['id'], self.neutron._ports[
            self.neutron.port_1['id']]['device_id'])
        self.assert_shown_once(server['id'], 'ACTIVE')
        self.assertEqual([], databases.dump()['cell0']['instances'])
        return rebuilt

    @ddt.data((exception.AcceleratorRequestBindingFailed, 'Failed to bind'),
              (None, 'RuntimeError'))
    @ddt.unpack
    def test_it_is_rebuilt_with_accelerators_bound_anew(self, error, fault):
        self.fail(error)
        server = self.bury_one(tags=['a'], description='mine')
        self.assert_fault(server, fault)
        self.assertEqual([('create', {})], self.told(server))
        rebuilt = self.assert_comes_back(server)
        self.assertEqual(['a'], rebuilt['tags'])
        self.assertEqual('mine', rebuilt['description'])
        self.assertEqual(server['created'], rebuilt['created'])

    def test_what_its_owner_changes_in_its_cell_is_kept(self):
        self.fail()
        self.useFixture(base.Interception(
            _BURY, before=lambda *args, **kwargs: self.api.put_server(
                self.api.get_servers()[0]['id'],
                {'server': {'description': 'late'}})))
        server = self.bury_one()
        self.assertEqual('late', server['description'])
        self.assertEqual(
            'late', self.assert_comes_back(server)['description'])

    def test_one_that_its_owner_deletes_in_its_cell_is_gone(self):
        self.fail()
        hook = self.useFixture(base.Interception(
            _BURY, before=lambda *args, **kwargs: self.api.delete_server(
                self.api.get_servers()[0]['id']),
            after=lambda *args, **kwargs: self.over.set()))
        server = self.create()
        self.assertTrue(self.over.wait(60))
        self.assertEqual([], hook.waiting())
        self._wait_until_deleted(server)
        self.assertEqual([], self.api.get_servers())
        self.assertEqual([], databases.dump()['cell0']['instances'])
        self.assertEqual({}, self._get_allocations_by_server_uuid(
            server['id']))
        self.assertEqual({}, self.cyborg.requests)

    @ddt.data(*[(step, when) for step in (
        'nova.db.main.api.instance_create', 'nova.db.main.api.constraint')
        for when in ('before', 'after')])
    @ddt.unpack
    def test_if_the_conductor_dies_a_recovery_ends_it(self, step, when):
        self.fail()

        def arm(*args, **kwargs):
            def crash(*args, **kwargs):
                self.over.set()
                recovering.crash()
            self.useFixture(base.Interception(step, **{when: crash}))
        self.useFixture(base.Interception(_BURY, before=arm))
        server = self.create()
        self.assertTrue(self.over.wait(60))
        self.assert_shown_once(server['id'], 'ERROR')
        code, found = recovering.recover()
        self.assertEqual((0, [server['id']]), (code, list(found)))
        self.assert_shown_once(server['id'], 'ERROR')
        self.assertEqual((0, {}), recovering.recover())
        if step.endswith('constraint'):
            self.assertEqual('cell0', databases.cell_of(server['id']))
            self.assert_comes_back(server)
        else:
            # As in Nova, until somebody buries it.
            self.assertIsNone(recovering.section(server['id']))
            self.api.delete_server(server['id'])
            self._wait_until_deleted(server)
