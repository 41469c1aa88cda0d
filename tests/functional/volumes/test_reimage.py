# SPDX-License-Identifier: Apache-2.0

"""Another image for a buried volume-backed server."""

import copy
import threading

from cinderclient import exceptions as cinder_exc
import ddt
from nova import exception
from oslo_db import exception as db_exc
from oslo_utils.fixture import uuidsentinel

from cell0_rebuild import db_errors
from cell0_rebuild.move import api_db
from tests.functional import base
from tests.functional.support import databases
from tests.functional.support import races_base
from tests.functional.support import recovering
from tests.functional.support import reimage_base

VOLUME = reimage_base.VOLUME


@ddt.ddt
class VolumeTest(reimage_base.ReimageTestCase):

    def test_cinder_has_written_it_before_a_host_is_chosen(self):
        found = []
        self.useFixture(base.Interception(
            'nova.scheduler.client.query.SchedulerQueryClient.'
            'select_destinations', before=lambda *args, **kwargs: found.append(
                (self.cinder.status, list(self.cinder.written)))))
        self.rebuild(self.server, imageRef=self.new)
        self.active(self.server)
        self.assertEqual(
            [('reserved', [(VOLUME, self.new, True)])], found)

    def test_it_stays_reserved_by_the_same_attachment(self):
        reserved = list(self.cinder.volume_to_attachment[VOLUME])
        self.rebuild(self.server, imageRef=self.new)
        self.active(self.server)
        self.assertEqual(
            reserved, list(self.cinder.volume_to_attachment[VOLUME]))
        self.assertEqual(
            (VOLUME, *reserved),
            (self.root('cell1')['volume_id'],
             self.root('cell1')['attachment_id']))

    def test_the_scheduler_is_told_of_it(self):
        self.rebuild(self.server, imageRef=self.new)
        server = self.active(self.server)
        self.assertEqual(
            self.new, databases.spec_of(server['id']).image.id)
        self.assertEqual('', server['image'])

    @ddt.data(True, False)
    def test_with_no_image_or_its_own_its_data_survives(self, names_it):
        self.rebuild(self.server, **(
            {'imageRef': self.cinder.image} if names_it else {}))
        self.active(self.server)
        self.assertEqual([], self.cinder.written)

    def test_deleted_meanwhile_the_server_stays_deleted(self):
        self.useFixture(base.Interception(
            recovering.WRITING,
            before=lambda *args: self.api.delete_server(self.server['id'])))
        self.rebuild(self.server, imageRef=self.new)
        self._wait_until_deleted(self.server)
        self._wait_for_assert(lambda: self.assertEqual([], [
            row for row in databases.dump()['cell0']['instances']
            if not row['deleted']]))
        self.assertEqual({}, self.cinder.volume_to_attachment[VOLUME])


class FailureTest(reimage_base.ReimageTestCase):

    def fail(self, **body):
        self.rebuild(self.server, imageRef=self.new, **body)
        return self.buried_again(self.server)['fault']['message']

    def test_a_volume_in_error_buries_it_again_and_says_what_to_do(self):
        self.cinder.ends = 'error'
        fault = self.fail()
        self.assertIn('its status is error', fault)
        self.assertIn('When the volume is "reserved", rebuild', fault)
        self.assertEqual(
            [('create', ['Error']), ('rebuild', ['Error'])],
            self.actions(self.server))
        self.assertEqual(1, len(self.cinder.volume_to_attachment[VOLUME]))

    def test_while_it_is_in_error_a_rebuild_is_409(self):
        self.cinder.ends = 'error'
        self.fail()
        self.assertIn('status error', self.assert_refused(
            409, self.server, imageRef=self.new))
        self.cinder.status = self.cinder.ends = 'reserved'
        self.rebuild(self.server, imageRef=self.new)
        self.active(self.server)

    def test_a_volume_that_is_not_ready_in_time_buries_it_again(self):
        self.flags(reimage_timeout_per_gb=1)
        self.cinder.ends = 'downloading'
        self.assertIn('not ready after 1 s', self.fail())

    def test_no_image_is_taken_to_be_on_it_after_a_failure(self):
        former = self.cinder.image
        self.cinder.ends = 'error'
        self.fail()
        self.cinder.status = self.cinder.ends = 'reserved'
        self.assertIn('is not known', self.assert_refused(409, self.server))
        self.rebuild(self.server, imageRef=former)
        self.active(self.server)
        self.assertEqual(
            [self.new, former], [image for _, image, _ in self.cinder.written])
        self.assertEqual(
            former, databases.spec_of(self.server['id']).image.id)

    def test_a_moment_without_cinder_is_waited_for(self):
        self.cinder.hiccups = [
            cinder_exc.ClientException(503),
            exception.CinderConnectionFailed(reason='reset')]
        self.rebuild(self.server, imageRef=self.new)
        self.active(self.server)
        self.assertEqual([], self.cinder.hiccups)

    def test_whatever_cinder_says_the_fault_says_what_to_do(self):
        self.cinder.hiccups = [cinder_exc.Unauthorized(401, 'long ' * 99)]
        fault = self.fail()
        self.assertIn(f'written to volume {VOLUME}: Unauthorized', fault)
        self.assertTrue(fault.endswith(
            'When the volume is "reserved", rebuild the server with an '
            'image.'), fault)

    def test_a_reservation_that_goes_meanwhile_buries_it_again(self):
        self.useFixture(base.Interception(
            recovering.WRITING,
            before=lambda *args: self.cinder.volume_to_attachment[
                VOLUME].clear()))
        self.assertIn('could not be found. When', self.fail())

    def test_a_database_away_for_a_moment_does_not_stop_it(self):
        accept = api_db.accept.__wrapped__
        answers = [db_exc.DBConnectionError()]

        def be_away_once(*args):
            if answers:
                raise answers.pop()
            return accept(*args)
        self.stub_out(recovering.ACCEPT,
                      db_errors.patiently(be_away_once))
        self.rebuild(self.server, imageRef=self.new)
        self.active(self.server)
        self.assertEqual([], answers)

    def test_a_database_away_for_good_buries_it_with_a_fault(self):
        def be_away(*args):
            raise db_exc.DBConnectionError()
        self.stub_out(recovering.ACCEPT, be_away)
        self.assertIn('DBConnectionError', self.fail())

    def test_what_else_was_asked_for_is_kept(self):
        self.cinder.ends = 'error'
        self.fail(name='asked')
        self.assertEqual(
            'asked', self.api.get_server(self.server['id'])['name'])
        self.assertEqual(
            self.new, databases.spec_of(self.server['id']).image.id)


class AnswerTest(reimage_base.ReimageTestCase):

    def test_an_answer_of_cinder_that_was_lost_is_no_refusal(self):
        self.cinder.lost = exception.CinderConnectionFailed(reason='timeout')
        self.rebuild(self.server, imageRef=self.new)
        self.active(self.server)
        self.assertEqual(1, len(self.cinder.written))


class LostMessageTest(reimage_base.ReimageTestCase):

    def test_an_image_that_no_conductor_knows_of_is_not_taken_as_written(self):
        late = self.useFixture(races_base.HeldMessage())
        self.rebuild(self.server, imageRef=self.new)
        code, _ = recovering.recover(self.server['id'])
        self.assertEqual(0, code)
        late.let_through()
        self.rebuild(self.server)
        self.active(self.server)
        self.assertEqual([], self.cinder.written)


class RefusalTest(reimage_base.ReimageTestCase):

    def setUp(self):
        super().setUp()
        self.answered = threading.Event()

    def refused(self, code, microversion=base.ADDED):
        before = databases.dump()
        error = self.assert_refused(
            code, self.server, microversion, imageRef=self.new, name='asked')
        self.assert_as_it_was(before)
        return error

    def test_cinder_refusing_leaves_everything_as_it_was(self):
        self.cinder.refusal = exception.InvalidInput(reason='not this one')
        self.assertIn('not this one', self.refused(400))

    def test_a_cinder_that_is_away_leaves_everything_as_it_was(self):
        def go_away(*args):
            self.stub_out('nova.volume.cinder.API.get', be_away)

        def be_away(*args):
            raise exception.CinderConnectionFailed(reason='Unavailable')
        self.useFixture(base.Interception(
            recovering.WRITE, before=go_away))
        self.assertIn('Unavailable', self.refused(400))

    def test_a_database_away_in_a_refusal_leaves_everything_as_it_was(self):
        self.refused_without_database(recovering.BACK, 1)

    def test_a_database_away_for_long_leaves_everything_as_it_was(self):
        self.refused_without_database(recovering.ENTRY, 2)

    def refused_without_database(self, step, times):
        """Have Cinder refuse while a step fails so many times."""
        hooks = [self.useFixture(base.Interception(
            step, before=recovering.lose_database)) for _ in range(times)]
        self.cinder.refusal = exception.InvalidInput(reason='not this one')
        self.assertIn('not this one', self.refused(400))
        self.assertEqual([[]] * times, [hook.waiting() for hook in hooks])

    def test_refused_after_the_answer_nothing_told_of_it(self):
        self.flags(rpc_response_timeout=1)
        # Not while it is written: SQLite has one lock for all servers.
        self.useFixture(base.Interception(
            recovering.REIMAGE,
            before=lambda *args: self.answered.wait(20)))
        self.cinder.refusal = exception.InvalidInput(reason='not this one')
        self.rebuild(self.server, imageRef=self.new)
        self.answered.set()
        server = self.buried_again(self.server)
        self.assertIn('not this one', server['fault']['message'])
        self.assertEqual(
            [('create', ['Error']), ('rebuild', ['Error'])],
            self.actions(self.server))

    def test_a_name_set_while_cinder_thinks_is_kept_though_it_refuses(self):
        def rename(*args, **kwargs):
            with self.microversion_is(base.STOCK):
                self.api.put_server(
                    self.server['id'], {'server': {'name': 'late'}})
        self.useFixture(base.Interception(
            recovering.WRITE, before=rename))
        self.cinder.refusal = exception.InvalidInput(reason='no')
        self.assert_refused(400, self.server, imageRef=self.new)
        self.assertEqual(
            'late', self.api.get_server(self.server['id'])['name'])

    def test_an_older_cinder_is_409(self):
        def too_old(context, version):
            raise exception.CinderAPIVersionNotAvailable(version=version)
        self.stub_out('nova.volume.cinder.is_microversion_supported', too_old)
        self.assertIn('3.68', self.refused(409))

    def test_a_volume_that_other_servers_may_have_is_409(self):
        self.cinder.multiattach = True
        self.assertIn('for all servers', self.assert_refused_without_trace(
            409, self.server, imageRef=self.new))
        self.rebuild(self.server)
        self.active(self.server)
        self.assertEqual([], self.cinder.written)

    def test_a_volume_that_is_being_written_is_409(self):
        self.cinder.status = self.cinder.ends = 'downloading'
        self.assertIn('status downloading', self.refused(409))

    def test_an_image_that_is_too_large_for_the_volume_is_400(self):
        self.new = self.glance.create(None, {
            **copy.deepcopy(self.glance.image2),
            'id': uuidsentinel.large, 'min_disk': 50})['id']
        self.assertIn('small', self.refused(400))


class OlderMicroversionTest(reimage_base.ReimageTestCase):

    options = {'api_microversion': '2.90'}

    def test_before_v2_93_another_image_is_400(self):
        before = databases.dump()
        error = self.assert_refused(
            400, self.server, '2.92', imageRef=self.new)
        self.assertIn('2.93', error)
        self.assert_as_it_was(before)

    def test_from_v2_93_on_another_image_is_taken(self):
        self.rebuild(self.server, '2.93', imageRef=self.new)
        self.active(self.server)
        self.assertEqual(1, len(self.cinder.written))


class VolumeToBeTest(base.FunctionalTestCase):

    bury_root = reimage_base.ReimageTestCase.bury_root
    root = reimage_base.ReimageTestCase.root

    def setUp(self):
        super().setUp()
        self.cinder = self.useFixture(reimage_base.WritingCinder(self))
        self.new = self.glance.image2['id']
        self.made_from = []
        self.useFixture(base.Interception(
            'nova.volume.cinder.API.create',
            before=lambda *args, **kwargs: self.made_from.append(
                (kwargs.get('image_id'), kwargs.get('snapshot'))),
            is_certain=False))

    def bury_from_image(self):
        return self.bury_root(
            uuid=self.glance.image1['id'], source_type='image',
            volume_size=1)

    def rebuilt(self, server, **body):
        self._start_compute('host1')
        self.rebuild(server, **body)
        return self.active(server)

    def test_it_is_made_from_the_new_image(self):
        self.rebuilt(self.bury_from_image(), imageRef=self.new)
        self.assertEqual([(self.new, None)], self.made_from)
        self.assertEqual(self.new, self.root('cell1')['image_id'])

    def test_its_former_image_may_be_gone(self):
        server = self.bury_from_image()
        self.glance.images.pop(self.glance.image1['id'])
        self.rebuilt(server, imageRef=self.new)
        self.assertEqual([(self.new, None)], self.made_from)

    def test_an_image_that_was_mended_is_scheduled_as_it_is_now(self):
        server = self.bury_from_image()
        self.glance.images[self.glance.image1['id']]['properties'][
            'hw_machine_type'] = 'q35'
        self.rebuilt(server)
        self.assertEqual('q35', databases.spec_of(
            server['id']).image.properties.hw_machine_type)

    def test_buried_again_it_still_is_to_come_from_the_new_image(self):
        server = self.bury_from_image()
        self.rebuild(server, imageRef=self.new)
        self.buried_again(server)
        self.assertEqual(self.new, self.root('cell0')['image_id'])
        self.rebuilt(server)
        self.assertEqual([(self.new, None)], self.made_from)

    def test_a_refused_rebuild_leaves_it_as_it_was(self):
        server = self.bury_from_image()
        self.stop_listening()
        before = databases.dump()
        self.assert_refused(409, server, imageRef=self.new)
        self.assertEqual(
            [], databases.differences(before, databases.dump()))
        self.assertEqual([], self.made_from)
