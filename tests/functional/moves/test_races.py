# SPDX-License-Identifier: Apache-2.0

"""Of two requests one wins; messages and changes come late."""

from nova import context as nova_context
from nova import objects

from cell0_rebuild import cells
from tests.functional import base
from tests.functional.support import databases
from tests.functional.support import races_base
from tests.functional.support import recovering

SCHEDULER = races_base.SCHEDULER


class OneWinnerTest(races_base.RaceTestCase):

    def test_of_two_rebuilds_one_is_accepted_and_one_is_409(self):
        self.useFixture(base.Interception(
            recovering.PROBE, after=self._rebuild))
        self.assert_refused(409, self.server)
        self.active(self.server)
        self.assertEqual(
            [('create', ['Error']), ('rebuild', ['Success'])],
            self.actions(self.server))

    def _rebuild(self, *args, **kwargs):
        self.rebuild(self.server)


class LateMessageTest(races_base.RaceTestCase):

    def test_buried_again_while_the_scheduler_thinks_it_is_not_lost(self):
        self.useFixture(base.Interception(
            SCHEDULER, after=self.bury_as_an_operator_would))
        self.rebuild(self.server)
        self.wait_for_the_conductor()
        self._wait_for_assert(lambda: self.assertEqual(
            {}, self._get_allocations_by_server_uuid(self.server['id'])))
        self.assert_shown_once(self.server['id'], 'ERROR')
        self.rebuild(self.server)
        self.active(self.server)

    def test_a_first_message_after_a_second_rebuild_harms_nothing(self):
        late = self.useFixture(races_base.HeldMessage())
        self.rebuild(self.server)
        self.bury_as_an_operator_would()
        late.let_through()
        self.rebuild(self.server)
        self.active(self.server)
        before = databases.dump()
        allocations = self._get_allocations_by_server_uuid(self.server['id'])
        late.deliver()
        self.assertEqual(
            [], databases.differences(before, databases.dump()))
        self.assertEqual(
            allocations,
            self._get_allocations_by_server_uuid(self.server['id']))
        self.assert_shown_once(self.server['id'], 'ACTIVE')

    def test_a_first_message_while_a_second_rebuild_waits_harms_nothing(self):
        late = self.useFixture(races_base.HeldMessage())
        self.rebuild(self.server)
        self.bury_as_an_operator_would()
        self.rebuild(self.server)
        before = databases.dump()
        late.deliver(0)
        self.assertEqual(
            [], databases.differences(before, databases.dump()))
        late.deliver(1)
        self.active(self.server)

    def test_a_message_that_comes_twice_builds_once(self):
        late = self.useFixture(races_base.HeldMessage())
        self.rebuild(self.server)
        built = []
        self.useFixture(base.Interception(
            SCHEDULER, before=lambda *args, **kwargs: (
                built.append(1), late.deliver())))
        late.deliver()
        self.active(self.server)
        self.assertEqual([1], built)
        self.assertEqual(
            [('create', ['Error']), ('rebuild', ['Success'])],
            self.actions(self.server))


class LateChangeTest(races_base.RaceTestCase):

    def test_a_write_to_cell0_that_began_earlier_is_kept(self):
        context = nova_context.get_admin_context()
        cctxt = cells.in_cell0(context)
        instance = objects.Instance.get_by_uuid(cctxt, self.server['id'])
        bdms = objects.BlockDeviceMappingList.get_by_instance_uuid(
            cctxt, self.server['id'])
        late = self.useFixture(races_base.HeldMessage())
        self.rebuild(self.server)
        instance.display_description = 'late'
        instance.locked = True
        instance.locked_by = 'admin'
        instance.system_metadata['locked_reason'] = 'because'
        instance.save()
        bdms[0].delete_on_termination = False
        bdms[0].save()
        objects.TagList.create(cctxt, self.server['id'], ['late'])
        late.deliver()
        server = self.active(self.server)
        self.assertEqual('late', server['description'])
        self.assertEqual(['late'], server['tags'])
        self.assertTrue(server['locked'])
        self.assertEqual('because', server['locked_reason'])
        self.assertEqual([False], [
            row['delete_on_termination']
            for row in databases.dump()['cell1']['block_device_mapping']])

    def test_a_name_given_while_it_is_buried_again_is_kept(self):
        self.api.put_service_force_down(
            self.computes['host1'].service_ref.uuid, True)
        self.useFixture(base.Interception(
            recovering.BACK, before=self._rename))
        self.rebuild(self.server)
        self.assertEqual('late', self.buried_again(self.server)['name'])

    def _rename(self, *args, **kwargs):
        self.api.put_server(self.server['id'], {'server': {'name': 'late'}})
