# SPDX-License-Identifier: Apache-2.0

"""What users and operators can do with a server that is shown as BUILD."""

import ddt

from tests.functional.support import archiving
from tests.functional import base
from tests.functional.support import databases
from tests.functional.support import races_base
from tests.functional.support import recovering
from tests.functional.support import removing
from tests.functional.wait import commands
from tests.functional.wait import showing_base


@ddt.ddt
class BuildTest(showing_base.ShowingTestCase):

    def setUp(self):
        super().setUp()
        self.sweeper.sweep()
        self.assert_shown('BUILD')

    def listed(self, status):
        """Return the servers that a list with a status shows."""
        return [server['id'] for server in self.api.get_servers(
            search_opts={'status': status})]

    def used(self):
        """Return what counts for the quota of its project."""
        limits = self.api.get_limits()['absolute']
        return {name: value for name, value in limits.items()
                if name.endswith('Used')}

    def test_recover_leaves_it_alone(self):
        before = databases.dump()
        self.assertEqual((0, {}), recovering.recover())
        self.assertEqual([], databases.differences(before, databases.dump()))

    def test_a_list_of_build_has_it_and_one_of_error_does_not(self):
        self.assertEqual([self.server['id']], self.listed('BUILD'))
        self.assertEqual([], self.listed('ERROR'))
        self.assertEqual(0, commands.run('end', self.server['id'])[0])
        self.assertEqual([], self.listed('BUILD'))
        self.assertEqual([self.server['id']], self.listed('ERROR'))

    def test_it_counts_for_the_quota_as_one_in_error(self):
        used = self.used()
        self.assertEqual(1, used['totalInstancesUsed'])
        commands.run('end', self.server['id'])
        self.assertEqual(used, self.used())

    def test_archiving_leaves_it_alone_while_it_lives(self):
        before = databases.dump()
        archiving.archive(self)
        self.assertEqual([], databases.differences(before, databases.dump()))

    def test_deleted_before_it_was_tried_nothing_is_left(self):
        self.api.delete_server(self.server['id'])
        self.assert_gone()

    def test_deleted_before_its_message_arrives_nothing_is_left(self):
        late = self.useFixture(races_base.HeldMessage())
        self.make_room()
        self.sweeper.sweep()
        self.assert_shown('BUILD')
        self.api.delete_server(self.server['id'])
        late.deliver()
        self.assert_gone()

    def test_deleted_while_the_scheduler_thinks_nothing_is_left(self):
        self.make_room()
        for when in ('before', 'after'):
            self.useFixture(base.Interception(races_base.SCHEDULER, **{
                when: lambda *args, **kwargs: self.api.api_request(
                    f'/servers/{self.server["id"]}', method='DELETE')}))
        self.sweeper.sweep()
        self.assert_gone()

    def test_read_as_build_and_deleted_when_it_lands_nothing_is_left(self):
        self.make_room()

        def land(*args, **kwargs):
            self.sweeper.sweep()
            # The conductor has done all when it has forgotten the server.
            self._wait_for_assert(lambda: self.assertIsNone(
                databases.spec_of(self.server['id']).retained))
            self._wait_for_assert(lambda: self.assertEqual(
                ['active'], [row['vm_state'] for row in databases.dump()[
                    'cell1']['instances']]))
        self.useFixture(base.Interception(
            'nova.compute.api.API._delete', before=land))
        self.api.delete_server(self.server['id'])
        self.assert_gone()

    def test_read_as_build_and_deleted_when_it_is_tried_nothing_is_left(self):
        late = self.useFixture(races_base.HeldMessage())
        self.make_room()
        self.useFixture(base.Interception(
            'nova.compute.api.API._delete',
            before=lambda *args, **kwargs: self.sweeper.sweep()))
        self.api.delete_server(self.server['id'])
        late.deliver()
        self.assert_gone()

    @ddt.data('nova.compute.utils.may_have_ports_or_volumes',
              'nova.compute.api.API._delete_while_booting',
              'nova.compute.api.API._lookup_instance',
              'nova.objects.instance.Instance.destroy')
    def test_while_it_is_deleted_it_is_not_tried(self, step):
        self.make_room()
        on_its_way = []

        def sweep(*args, **kwargs):
            self.sweeper.sweep()
            on_its_way.append(databases.dump()['api']['build_requests'])
        self.useFixture(base.Interception(
            'nova.compute.api.API.delete',
            before=lambda *args: self.useFixture(
                base.Interception(step, before=sweep))))
        self.api.delete_server(self.server['id'])
        self.assertEqual([[]], on_its_way)
        self.assert_gone()

    def test_deleted_after_it_found_no_host_nothing_is_left(self):
        self.rebuild(self.server)
        self._wait_for_assert(lambda: self.assertEqual(
            [False], databases.hidden(self.server['id'])))
        self.assert_shown('BUILD')
        self.api.delete_server(self.server['id'])
        self.assert_gone()

    def test_deleted_on_its_host_nothing_is_left(self):
        self.make_room()
        self.sweeper.sweep()
        self.active(self.server)
        self.api.delete_server(self.server['id'])
        self.assert_gone()

    def test_a_lock_holds_it_and_nobody_rebuilds_or_deletes_it(self):
        self.api.post_server_action(self.server['id'], {'lock': None})
        self.make_room()
        self.assert_left_alone(self.server, code='locked')
        self.assert_refused(409, self.server)
        self.assertEqual(409, self.api.api_request(
            f'/servers/{self.server["id"]}', method='DELETE').status_code)
        self.assert_shown('BUILD')
        self.api.post_server_action(self.server['id'], {'unlock': None})
        self.sweeper.sweep()
        self.active(self.server)

    def test_what_its_owner_changes_stays_when_it_is_active(self):
        self.api.put_server(self.server['id'], {'server': {
            'name': 'renamed', 'description': 'waits'}})
        self.assert_shown('BUILD')
        self.make_room()
        self.sweeper.sweep()
        self.assertEqual('renamed', self.active(self.server)['name'])


class RemovedTest(removing.RemovingMixin, showing_base.ShowingTestCase):

    def test_stock_nova_shows_and_deletes_who_was_ended(self):
        self.sweeper.sweep()
        code, said = commands.run('end', '--all')
        self.assertEqual(0, code, said)
        self.remove_package()
        self.assert_shown('ERROR')
        self.api.delete_server(self.server['id'])
        self.assert_gone()

    def test_stock_nova_deletes_also_who_was_not_ended(self):
        self.sweeper.sweep()
        self.remove_package()
        self.assert_shown('BUILD')
        self.api.delete_server(self.server['id'])
        self.assert_gone()

    def test_who_can_no_longer_be_rebuilt_is_ended_too(self):
        self.sweeper.sweep()
        databases.forget(self.server['id'])
        code, said = commands.run('end', '--all')
        self.assertEqual(0, code, said)
        self.assertIn('waits no longer', said)
        self.assert_shown('ERROR')
