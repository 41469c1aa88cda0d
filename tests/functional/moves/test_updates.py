# SPDX-License-Identifier: Apache-2.0

"""What a PUT was answered with 200 for is there at the end.

Each test changes all that this Nova lets a PUT change.
"""

import contextlib

import ddt
from nova import context as nova_context
from nova import objects
from oslo_db import exception as db_exc

from cell0_rebuild import cells
from cell0_rebuild.move import cell_db
from cell0_rebuild.move import late_changes
from tests import releases
from tests.functional import base
from tests.functional.support import databases
from tests.functional.support import recovering
from tests.functional.moves import updates_base
from tests.functional.support import updating

UPDATE = 'nova.compute.api.API.update_instance'
SAVE = 'nova.objects.build_request.BuildRequest.save'
APPLY = recovering.APPLY


@ddt.ddt
class SchemaTest(updates_base.UpdateTestCase):

    @ddt.data(*updating.schemas())
    def test_each_field_that_a_put_changes_is_watched(self, microversion):
        changed = []
        self.at(UPDATE, act=lambda api, context, instance, updates:
                changed.extend(updates))
        asked = updating.everything(
            self.api.get_server(self.server['id']),
            updating.schemas()[microversion])
        with self.microversion_is(microversion):
            self.put(asked)
        self.assertIn('display_name', changed)
        self.assertEqual(set(), set(changed) - set(late_changes.FIELDS))

    def test_a_put_of_everything_changes_every_property(self):
        self.update()
        _, schema = updating.newest()
        self.assertEqual(set(schema), set(self.asked))
        self.assert_updated()


@ddt.ddt
class RebuiltTest(updates_base.UpdateTestCase):

    def test_what_is_changed_while_it_is_buried_is_kept(self):
        self.update()
        self.rebuild_now()
        self.active(self.server)
        self.assert_updated()

    def test_what_is_changed_between_check_and_move_is_kept(self):
        self.at(recovering.PROBE, act=self.update_but_zone)
        self.rebuild_now()
        self.active(self.server)
        self.assert_updated()

    def test_what_is_changed_before_a_conductor_takes_it_is_kept(self):
        self.rebuild(self.server)
        self.update()
        self.late.deliver()
        self.active(self.server)
        self.assert_updated()

    @ddt.data(
        ('the_scheduler_thinks', recovering.SCHEDULER, 'before'),
        ('the_scheduler_has_answered', recovering.SCHEDULER, 'after'),
        ('it_is_created_in_its_cell', recovering.TAGS, 'before'),
        ('it_is_whole_in_its_cell', recovering.TAGS, 'after'),
        ('it_is_about_to_be_handed_over', recovering.END, 'before'),
        ('it_is_just_handed_over', recovering.END, 'after'),
        ('the_compute_is_told', recovering.CAST, 'before'),
        ('the_compute_has_been_told', recovering.FINISH, 'before'))
    @ddt.unpack
    def test_what_is_changed_is_kept_while(self, _name, step, when):
        self.at(step, when)
        self.rebuild_now()
        self.active(self.server)
        self.assert_updated()

    def test_the_last_of_two_changes_is_kept(self):
        self.at(recovering.SCHEDULER)
        self.at(recovering.TAGS, 'after')
        self.rebuild_now()
        self.active(self.server)
        self.assert_updated()

    def test_an_update_in_cell0_gives_way_to_one_that_came_later(self):
        in_cell0 = databases.in_cell0(self.server['id'])
        in_cell0.access_ip_v4 = '192.0.2.9'
        self.rebuild(self.server)
        in_cell0.save()
        self.at(recovering.SCHEDULER)
        self.late.deliver()
        self.active(self.server)
        self.assert_updated()

    @ddt.data(
        ('before_a_conductor_takes_it', recovering.ASK),
        ('when_it_is_in_its_cell', recovering.TAGS))
    @ddt.unpack
    def test_the_last_of_two_updates_is_kept_if_one_came_before_the_move(
            self, _name, step):
        self.at(recovering.PROBE, act=self.update_but_zone)
        self.at(step, 'after', self.update_but_zone)
        self.rebuild_now()
        self.active(self.server)
        self.assert_updated()

    def test_an_update_that_read_the_build_request_can_set_a_value_back(self):
        name = self.server['name']
        self.at(recovering.SCHEDULER, act=lambda *args, **kwargs: self.put(
            {'name': 'another'}))
        self.write_late(display_name=name)
        self.rebuild_now()
        self.assertEqual(name, self.active(self.server)['name'])

    def test_an_update_that_read_it_in_cell0_is_kept(self):
        self.at(UPDATE, act=lambda *args: self.rebuild(self.server))
        self.update_but_zone()
        self.late.deliver()
        self.active(self.server)
        self.assert_updated()

    def test_an_update_that_read_it_in_cell0_outlives_the_hand_over(self):
        instance = databases.in_cell0(self.server['id'])
        self.at(recovering.FINISH, act=lambda *args: instance.save())
        instance.access_ip_v4, instance.auto_disk_config = '192.0.2.7', True
        self.assertNotEqual('AUTO', self.server['OS-DCF:diskConfig'])
        self.rebuild_now()
        server = self.active(self.server)
        self.assertEqual(('192.0.2.7', 'AUTO'), (
            server['accessIPv4'], server['OS-DCF:diskConfig']))

    def test_an_update_that_read_the_build_request_is_kept(self):
        self.rebuild(self.server)
        self.at(SAVE, act=lambda *args: self.late.deliver())
        self.update()
        self.active(self.server)
        self.assert_updated()

    def test_a_zone_that_is_given_up_leaves_the_image_of_the_rebuild(self):
        image = self.glance.auto_disk_config_enabled_image['id']
        # As PUT of pinned_availability_zone does.
        spec = databases.spec_of(self.server['id'])
        spec.availability_zone = None
        self.at(recovering.SCHEDULER, act=lambda *args, **kwargs: spec.save())
        self.rebuild_now(imageRef=image)
        self.active(self.server)
        found = databases.spec_of(self.server['id'])
        self.assertEqual(
            (None, image), (found.availability_zone, found.image.id))

    def test_what_the_request_asks_for_is_kept_with_what_it_does_not(self):
        self.at(recovering.SCHEDULER, act=lambda *args, **kwargs: self.put(
            {'accessIPv4': '192.0.2.8'}))
        self.rebuild_now(name='asked', accessIPv6='2001:db8::8')
        self.active(self.server)
        self.asked.update({'name': 'asked', 'accessIPv6': '2001:db8::8'})
        self.assert_updated()


@ddt.ddt
class BuriedAgainTest(updates_base.UpdateTestCase):

    @ddt.data(
        ('the_scheduler_thinks', recovering.SCHEDULER, 'before'),
        ('it_is_created_in_its_cell', recovering.TAGS, 'before'),
        ('it_is_whole_in_its_cell', recovering.TAGS, 'after'))
    @ddt.unpack
    def test_what_is_changed_before_the_hand_over_is_kept_while(
            self, _name, step, when):
        self.at(step, when)
        self.at(recovering.HAND_OVER, act=recovering.fail)
        self.rebuild_now()
        self.buried_again(self.server)
        self.assert_updated()

    @ddt.data(
        ('it_is_just_handed_over', recovering.END, 'after'),
        ('the_compute_is_told', recovering.CAST, 'before'))
    @ddt.unpack
    def test_what_is_changed_after_the_hand_over_is_kept_while(
            self, _name, step, when):
        self.at(recovering.CAST, act=recovering.fail)
        self.at(step, when)
        self.rebuild_now()
        self.buried_again(self.server)
        self.assert_updated()

    def test_an_update_that_read_it_in_its_cell_is_kept(self):
        found = []

        def read_and_fail(*args, **kwargs):
            [cell] = objects.InstanceMappingList.get_by_instance_uuids(
                nova_context.get_admin_context(), [self.server['id']])
            found.append(objects.Instance.get_by_uuid(
                cells.targeted(cell._context, cell.cell_mapping),
                self.server['id']))
            recovering.fail()

        def save(*args, **kwargs):
            found[0].access_ip_v4 = '192.0.2.7'
            found[0].save()
        self.at(recovering.CAST, act=read_and_fail)
        self.at(recovering.REMOVE, act=save)
        self.rebuild_now()
        server = self.buried_again(self.server)
        self.assertEqual('192.0.2.7', server['accessIPv4'])

    def test_the_last_of_two_changes_is_kept(self):
        self.at(recovering.SCHEDULER)
        self.at(recovering.TAGS, 'after')
        self.at(recovering.HAND_OVER, act=recovering.fail)
        self.rebuild_now()
        self.buried_again(self.server)
        self.assert_updated()

    def test_what_is_changed_between_check_and_move_is_kept(self):
        self.at(recovering.PROBE, act=self.update_but_zone)
        self.at(recovering.SCHEDULER, act=recovering.fail)
        self.rebuild_now()
        self.buried_again(self.server)
        self.assert_updated()

    @ddt.data(
        ('before', recovering.HAND_OVER), ('after', recovering.CAST))
    @ddt.unpack
    def test_what_was_read_before_it_was_mapped_is_kept_if_it_fails(
            self, _name, death):
        self.write_late(access_ip_v4='192.0.2.7')
        self.at(death, act=recovering.fail)
        self.rebuild_now()
        server = self.buried_again(self.server)
        self.assertEqual('192.0.2.7', server['accessIPv4'])

    def test_what_is_changed_is_kept_if_the_row_cannot_be_changed(self):
        failures = []
        apply = late_changes.apply

        def fail_at_the_hand_over(context, instance, bdms, late):
            if bdms and late:
                failures.append(late)
                raise db_exc.DBConnectionError(Exception('down'))
            return apply(context, instance, bdms, late)
        self.stub_out(APPLY, fail_at_the_hand_over)
        self.at(recovering.SCHEDULER)
        self.at(recovering.END, act=self._save_build_request)
        self.rebuild_now()
        server = self.buried_again(self.server)
        self.assertEqual(1, len(failures))
        self.assertEqual('192.0.2.99', server['accessIPv4'])
        self.asked['accessIPv4'] = '192.0.2.99'
        self.assert_updated()

    def _save_build_request(self, *args, **kwargs):
        build_request = objects.BuildRequest.get_by_instance_uuid(
            nova_context.get_admin_context(), self.server['id'])
        build_request.instance.access_ip_v4 = '192.0.2.99'
        build_request.save()

    def test_what_is_changed_is_kept_if_the_cell_goes_away_just_then(self):
        self.at(recovering.TAGS, 'after')
        downs = []

        def go_away(*args, **kwargs):
            if not downs:
                downs.append(True)
                recovering.lose_database()
            return read(*args, **kwargs)
        read = cell_db.watched
        self.stub_out(recovering.WATCHED, go_away)
        self.at(recovering.CAST, act=recovering.fail)
        self.rebuild_now()
        self.buried_again(self.server)
        self.assertEqual([True], downs)
        self.assert_updated()

    def test_what_is_changed_is_kept_if_the_rebuild_is_withdrawn(self):
        self.at(recovering.REQUEST,
                act=self._update_and_fail)
        self.assert_refused(409, self.server)
        self.assert_updated()

    def _update_and_fail(self, *args):
        self.update()
        recovering.fail()


@ddt.ddt
class RecoveredTest(updates_base.UpdateTestCase):

    def test_what_is_changed_is_kept_if_the_message_was_lost(self):
        self.rebuild(self.server)
        self.update()
        self.assert_recovered('on its way')
        self.assert_updated()

    @ddt.data(
        ('scheduler', recovering.SCHEDULER, 'on its way'),
        ('row', recovering.TAGS, 'on its way'),
        ('end', recovering.END, 'on its way'),
        ('cast', recovering.CAST, 'not built'))
    @ddt.unpack
    def test_what_is_changed_is_kept_if_a_conductor_died_at(
            self, _name, step, state):
        self.rebuild_until(step, before=recovering.crash)
        self.update()
        self.assert_recovered(state)
        self.assert_updated()

    @ddt.data(
        ('remove', recovering.REMOVE), ('show', recovering.SHOW))
    @ddt.unpack
    def test_what_is_changed_is_kept_if_it_died_on_the_way_back_at(
            self, _name, step):
        self.useFixture(base.Interception(
            recovering.CAST, before=recovering.fail))
        self.rebuild_until(step, before=recovering.crash)
        self.update()
        self.assert_recovered('hidden')
        self.assert_updated()

    @releases.needs('faults_of_cells')
    def test_what_is_changed_is_kept_if_the_cell_goes_away_for_longer(self):
        self.at(recovering.TAGS, 'after')
        away = contextlib.ExitStack()
        self.addCleanup(away.close)
        self.at(recovering.HAND_OVER, act=lambda *args: away.enter_context(
            databases.down('cell1')))
        self.rebuild_now()
        # What its owner sees does not wait for the cell.
        self.assert_shown_once(self.server['id'], 'ERROR')
        self.assert_updated()
        away.close()
        self.assert_recovered('leftovers')
        self.assert_updated()

    @ddt.data(
        ('before', recovering.HAND_OVER, 'before', 'on its way'),
        ('after', recovering.END, 'after', 'not built'))
    @ddt.unpack
    def test_what_read_the_build_request_is_kept_if_a_conductor_died(
            self, _name, step, when, state):
        self.write_late(access_ip_v4='192.0.2.7')
        self.rebuild_until(step, **{when: recovering.crash})
        self.assert_recovered(state)
        self.assertEqual('192.0.2.7', self.api.get_server(
            self.server['id'])['accessIPv4'])

    def test_the_last_of_two_changes_is_kept_if_it_died_in_the_cell(self):
        self.at(recovering.SCHEDULER)
        self.rebuild_until(recovering.HAND_OVER, before=recovering.crash)
        self.update()
        self.assert_recovered('on its way')
        self.assert_updated()

    def test_the_last_of_two_changes_is_kept_if_it_died_on_the_way_back(self):
        self.at(recovering.SCHEDULER)
        self.useFixture(base.Interception(
            recovering.CAST, before=recovering.fail))
        self.rebuild_until(recovering.REMOVE, before=recovering.crash)
        self.update()
        self.assert_recovered('hidden')
        self.assert_updated()

    @ddt.data(
        ('handed_over_removed', recovering.CAST, recovering.REMOVE),
        ('handed_over_shown', recovering.CAST, recovering.SHOW))
    @ddt.unpack
    def test_what_is_changed_is_kept_while_it_is(self, _name, death, step):
        self.rebuild_until(death, before=recovering.crash)
        self.at(step)
        recovering.recover()
        self.assert_updated()
        recovering.recover()
        self.assert_buried()
        self.assert_updated()

    def test_what_is_changed_is_kept_if_it_is_finished(self):
        self.rebuild_until(recovering.FINISH, before=recovering.crash)
        self._wait_for_state_change(self.server, 'ACTIVE')
        self.update()
        recovering.recover()
        self.active(self.server)
        self.assert_updated()
