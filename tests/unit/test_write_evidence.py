# SPDX-License-Identifier: Apache-2.0

"""What shows that an image was written to a volume, or is not to be."""

import dataclasses

import ddt
import testtools

from cell0_rebuild.conductor import write_evidence

BEFORE = write_evidence.Seen('reserved', 'former', 40)
BUSY = dataclasses.replace(BEFORE, status='downloading')
FAILED = dataclasses.replace(BEFORE, status='error')
AFTER = dataclasses.replace(BEFORE, image_id='image')
_BLIND = write_evidence.BLIND


@ddt.ddt
class SeenTest(testtools.TestCase):

    def test_it_is_what_cinder_shows(self):
        self.assertEqual(BEFORE, write_evidence.Seen.of({
            'status': 'reserved', 'size': 40, 'bootable': True,
            'volume_image_metadata': {'image_id': 'former', 'min_ram': 0}}))

    def test_a_volume_may_have_no_image(self):
        self.assertEqual(
            write_evidence.Seen('error', None, 1), write_evidence.Seen.of(
                {'status': 'error', 'size': 1}))

    def test_it_is_busy_while_cinder_writes(self):
        self.assertEqual([False, True, False], [
            seen.is_busy for seen in (BEFORE, BUSY, FAILED)])


@ddt.ddt
class WrittenTest(testtools.TestCase):

    def is_written(self, before, after, unseen):
        return write_evidence.is_written('image', before, after, unseen)

    @ddt.data(None, 0, _BLIND + 1)
    def test_what_cinder_says_is_enough_if_it_is_new(self, unseen):
        self.assertTrue(self.is_written(BEFORE, AFTER, unseen))

    @ddt.data(FAILED, BEFORE, dataclasses.replace(AFTER, status='error'),
              dataclasses.replace(AFTER, status='available'))
    def test_it_is_not_with_another_status_or_image(self, after):
        self.assertFalse(self.is_written(BEFORE, after, 0))

    @ddt.data((None, False), (0, True), (_BLIND, True), (_BLIND + 1, False))
    @ddt.unpack
    def test_if_it_said_so_before_the_end_was_seen(self, unseen, expected):
        self.assertEqual(expected, self.is_written(AFTER, AFTER, unseen))

    def test_a_status_that_was_set_before_does_not_count(self):
        self.assertFalse(self.is_written(
            dataclasses.replace(AFTER, status='error'), AFTER, 0))


@ddt.ddt
class RefusedTest(testtools.TestCase):

    @ddt.data((400, True), (403, True), (404, True), (409, True), (413, True),
              (408, False), (500, False), (503, False), (504, False),
              (0, False), (None, False))
    @ddt.unpack
    def test_it_is_by_an_answer_of_cinder(self, code, expected):
        self.assertEqual(
            expected, write_evidence.is_refused(code, BEFORE, BEFORE))

    @ddt.data(BUSY, FAILED, AFTER)
    def test_it_is_not_if_the_volume_is_another(self, after):
        self.assertFalse(write_evidence.is_refused(400, BEFORE, after))
