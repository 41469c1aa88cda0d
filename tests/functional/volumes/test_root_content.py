# SPDX-License-Identifier: Apache-2.0

"""A server starts from its root volume only if it is known what is on it."""

import time

from cinderclient import exceptions as cinder_exc
import ddt
from nova import exception
from oslo_db import exception as db_exc
from oslo_utils.fixture import uuidsentinel

from tests.functional.support import databases
from tests.functional.support import reimage_base


@ddt.ddt
class ContentTest(reimage_base.ReimageTestCase):

    def setUp(self):
        super().setUp()
        self.old = self.cinder.image

    def fail(self, image):
        """Have a rebuild fail; return its fault."""
        self.rebuild(self.server, imageRef=image)
        return self.buried_again(self.server)['fault']['message']

    def fail_to_write(self, image):
        """Have Cinder fail; the volume is set to reserved again."""
        self.cinder.ends = 'error'
        self.fail(image)
        self.cinder.put_right()

    def assert_unknown(self):
        """Check that a rebuild needs an image, and writes the old one."""
        error = self.assert_refused(409, self.server)
        self.assertIn('is not known', error)
        self.assertIn('Name the image', error)
        orders = len(self.cinder.written)
        self.rebuild(self.server, imageRef=self.old)
        self.active(self.server)
        self.assertEqual(orders + 1, len(self.cinder.written))
        self.assertEqual(self.old, self.cinder.content)

    def assert_known(self):
        """Check that a rebuild without an image writes nothing."""
        orders = len(self.cinder.written)
        self.rebuild(self.server)
        self.active(self.server)
        self.assertEqual(orders, len(self.cinder.written))
        self.assertEqual(self.cinder.image, self.cinder.content)

    def test_that_it_is_not_known_is_stored_before_cinder_is_asked(self):
        stored = []

        def asked(_api, *args, **kwargs):
            stored.append(databases.spec_of(self.server['id']).retained)
            self.cinder.fake_reimage_volume(*args, **kwargs)
        self.stub_out('nova.volume.cinder.API.reimage_volume', asked)
        self.rebuild(self.server, imageRef=self.new)
        self.active(self.server)
        self.assertEqual([False], [found.root_known for found in stored])

    def test_what_cinder_says_of_it_is_no_evidence_after_two_failures(self):
        self.fail_to_write(self.new)
        self.fail_to_write(self.old)
        self.assert_unknown()

    @ddt.data(exception.CinderConnectionFailed(reason='refused'),
              cinder_exc.ClientException(503, 'Unavailable'))
    def test_an_order_that_did_not_reach_cinder_does_not_count(self, error):
        self.fail_to_write(self.new)
        self.cinder.refusal = error
        fault = self.fail(self.old)
        self.assertIn('rebuild the server with an image', fault)
        self.cinder.refusal = None
        self.assert_unknown()

    def test_an_order_that_reaches_cinder_late_is_not_forgotten(self):
        self.cinder.late = exception.CinderConnectionFailed(reason='timeout')
        self.cinder.ends = 'error'
        self.fail(self.new)
        self.cinder.late = None
        self.cinder.arrive()
        self.assertIn('is in status', self.assert_refused(
            409, self.server, imageRef=self.new))
        self.cinder.put_right()
        self.assert_unknown()

    def test_a_database_that_fails_when_cinder_has_begun_stops_nothing(self):
        self.cinder.lost = db_exc.DBConnectionError()
        self.rebuild(self.server, imageRef=self.new)
        self.active(self.server)
        self.assertEqual(self.new, self.cinder.content)

    def test_a_refusal_of_what_was_sent_twice_is_none(self):
        # The first answer was lost, and the client has sent it again.
        self.cinder.lost = exception.InvalidInput(
            reason='current status is downloading')
        self.rebuild(self.server, imageRef=self.new)
        self.active(self.server)
        self.assertEqual(self.new, self.cinder.content)

    def test_a_refusal_leaves_it_known(self):
        self.cinder.refusal = exception.Forbidden('no')
        self.assert_refused(400, self.server, imageRef=self.new)
        self.assert_known()

    def test_a_refusal_leaves_it_unknown(self):
        self.fail_to_write(self.new)
        self.cinder.refusal = exception.Forbidden('no')
        self.assert_refused(400, self.server, imageRef=self.new)
        self.cinder.refusal = None
        self.assert_unknown()

    def test_a_write_that_ended_well_is_known_also_without_a_host(self):
        self.fail_to_write(self.new)
        self.have_room(False)
        self.fail(self.old)
        self.have_room(True)
        self.assert_known()

    def test_a_write_that_ended_well_unseen_is_not_known(self):
        self.flags(reimage_timeout_per_gb=1)
        self.cinder.ends = 'downloading'
        self.fail(self.new)
        self.cinder.ends = 'reserved'
        self.cinder.go_on()
        self.assert_unknown()

    def test_an_end_that_nobody_saw_is_no_end(self):
        def look_away():
            self.cinder.go_on()
            self.cinder.put_right()
            time.sleep(1)
        self.stub_out('cell0_rebuild.conductor.write_evidence.BLIND', 0.5)
        self.fail_to_write(self.new)
        self.cinder.ends = 'error'
        self.cinder.hiccups = [look_away]
        self.fail(self.old)
        self.assert_unknown()

    def have_room(self, wanted):
        """Let the scheduler find the compute, or not."""
        [service] = self.admin_api.get_services(binary='nova-compute')
        self.admin_api.put_service(service['id'], {
            'status': 'enabled' if wanted else 'disabled'})


class TimeTest(reimage_base.ReimageTestCase):

    def test_an_image_has_the_time_of_the_volume_however_small_it_is(self):
        self.flags(reimage_timeout_per_gb=1)
        self.cinder.size = 40
        # It may be compressed.
        self.new = self.glance.create(None, {
            **self.glance.image2, 'id': uuidsentinel.small, 'size': 1,
            'min_disk': 0})['id']
        self.cinder.hiccups = [lambda: time.sleep(1.5)]
        self.rebuild(self.server, imageRef=self.new)
        self.active(self.server)
