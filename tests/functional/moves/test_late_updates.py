# SPDX-License-Identifier: Apache-2.0

"""The last of several updates is kept, whatever happens in between."""

import json

import ddt
from nova import objects
from nova.compute import rpcapi
from oslo_db import exception as db_exc

from tests.functional import base
from tests.functional.support import cinder
from tests.functional.support import databases
from tests.functional.support import recover_base
from tests.functional.support import recovering
from tests.functional.moves import updates_base


@ddt.ddt
class TakenTest(updates_base.UpdateTestCase):
    """A compute gets a message of which the conductor is told it is lost."""

    def setUp(self):
        super().setUp()
        self.messages = []
        self.tell = rpcapi.ComputeAPI.build_and_run_instance

        def lose(*args, **kwargs):
            self.messages.append((args, kwargs))
            recovering.fail()
        self.stub_out(recovering.CAST, lose)

    def arrive(self, *_args, **_kwargs):
        """Deliver it when the server is about to go back to cell0."""
        [(args, kwargs)] = self.messages
        self.tell(*args, **kwargs)
        self._wait_for_state_change(self.server, 'ACTIVE')
        self.put({'name': 'last'})

    def assert_last(self):
        self.assertEqual('last', self.active(self.server)['name'])

    @ddt.data({'name': 'asked'}, {})
    def test_an_update_then_is_kept(self, body):
        self.at(recovering.SCHEDULER, act=lambda *args, **kwargs: self.put(
            {'name': 'earlier'}))
        self.at(recovering.REMAP, act=self.arrive)
        self.rebuild_now(**body)
        self.assert_last()

    @ddt.data({'name': 'asked'}, {})
    def test_an_update_then_is_kept_if_the_conductor_dies(self, body):
        self.at(recovering.SCHEDULER, act=lambda *args, **kwargs: self.put(
            {'name': 'earlier'}))
        self.rebuild_until(recovering.REMAP, before=recovering.crash, **body)
        self.arrive()
        self.assertEqual(0, recovering.recover()[0])
        self.assert_last()


class SetBackTest(updates_base.UpdateTestCase):
    """A value is changed, and then set back to what it was."""

    def set_back(self, *_args, **_kwargs):
        self.put({'name': self.server['name']})

    def assert_set_back(self):
        server = self.api.get_server(self.server['id'])
        self.assertEqual(self.server['name'], server['name'])

    def test_it_is_kept_if_the_first_came_late_and_the_conductor_died(self):
        self.write_late(display_name='late')
        self.rebuild_until(recovering.CAST, before=recovering.crash)
        self.set_back()
        self.assert_recovered('not built')
        self.assert_set_back()

    def test_a_change_is_kept_that_the_cell_refuses_at_first(self):
        save, refused = objects.Instance.save, []

        def refuse_once(instance, *args, **kwargs):
            if not refused and instance.display_name == 'another' and (
                    'display_name' in instance.obj_what_changed()):
                refused.append(instance)
                raise db_exc.DBDeadlock()
            return save(instance, *args, **kwargs)
        self.at(recovering.SCHEDULER, act=lambda *args, **kwargs: self.put(
            {'name': 'another'}))
        self.at(recovering.HAND_OVER, act=lambda *args: self.stub_out(
            'nova.objects.Instance.save', refuse_once))
        self.at(recovering.CAST, act=recovering.fail)
        self.rebuild_now()
        self.assertEqual('another', self.buried_again(self.server)['name'])
        self.assertEqual(1, len(refused))


class FlagTest(recover_base.RecoverTestCase):
    """What becomes of a volume is changed in the cell."""

    def bury(self, **body):
        self.cinder = self.useFixture(cinder.CinderFixture(self))
        return super().bury(imageRef='', block_device_mapping_v2=[{
            'boot_index': 0, 'destination_type': 'volume',
            'uuid': cinder.ROOT, 'source_type': 'volume',
            'delete_on_termination': False}], **body)

    def set_flag(self, *_args, value=True, **_kwargs):
        answer = self.api.api_request(
            f'/servers/{self.server["id"]}/os-volume_attachments/'
            f'{cinder.ROOT}', method='PUT', body=json.dumps({
                'volumeAttachment': {'volumeId': cinder.ROOT,
                                     'delete_on_termination': value}}))
        self.assertEqual(202, answer.status_code)

    def assert_set(self, value=True):
        [row] = databases.dump()['cell0']['block_device_mapping']
        self.assertIs(value, row['delete_on_termination'])

    def test_a_volume_stays_if_that_was_said_before_the_hand_over(self):
        self.set_flag()
        self.assert_set()

        # Nova writes it to [database], of a server in no cell.
        def say_and_crash(*args, **kwargs):
            self.set_flag(value=False)
            recovering.crash()
        self.rebuild_until(recovering.HAND_OVER, before=say_and_crash)
        self.assert_recovered('on its way')
        self.assert_set(False)

    def test_it_is_kept_if_the_server_goes_back(self):
        def set_and_fail(*args, **kwargs):
            self.set_flag()
            recovering.fail()
        self.useFixture(base.Interception(
            recovering.CAST, before=set_and_fail))
        self.rebuild(self.server)
        self.late.deliver()
        self.buried_again(self.server)
        self.assert_set()

    def test_it_is_kept_if_the_conductor_died(self):
        self.rebuild_until(recovering.CAST, before=recovering.crash)
        self.set_flag()
        self.assert_recovered('not built')
        self.assert_set()

    def test_it_is_kept_if_it_is_set_in_cell0_before(self):
        self.useFixture(base.Interception(
            recovering.PROBE, before=self.set_flag))
        self.rebuild_until(recovering.END, after=recovering.crash)
        self.assert_recovered('not built')
        self.assert_set()

    def test_it_is_kept_if_it_is_set_on_the_way_back(self):
        self.useFixture(base.Interception(
            recovering.CAST, before=recovering.fail))
        # The request has read where the server is before that.
        self.useFixture(base.Interception(
            recovering.REMAP, before=self.set_flag))
        self.rebuild(self.server)
        self.late.deliver()
        self.buried_again(self.server)
        self.assert_set()
