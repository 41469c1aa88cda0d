# SPDX-License-Identifier: Apache-2.0

"""What the image of a request means for each server that it can meet."""

import itertools
import unittest

from oslo_utils.fixture import uuidsentinel as uuids

from cell0_rebuild.api import named_image
from cell0_rebuild.api.named_image import Before
from cell0_rebuild.api.named_image import Meaning

LOCAL = Before(uuids.own, is_volume_backed=False)
LOCAL_WITHOUT = Before('', is_volume_backed=False)
BESIDE = Before(uuids.own, is_volume_backed=True, on_volume=uuids.on_volume)
BESIDE_BLANK = Before(uuids.own, is_volume_backed=True)
VOLUME = Before('', is_volume_backed=True, on_volume=uuids.on_volume)
BLANK = Before('', is_volume_backed=True)
UNKNOWN = [Before(own, is_volume_backed=True, on_volume=uuids.on_volume,
                  is_known=False) for own in ('', uuids.own)]
VOLUMES = (BESIDE, BESIDE_BLANK, VOLUME, BLANK)


class MeaningTest(unittest.TestCase):

    def assert_means(self, expected, servers, images, may_write=(True, False)):
        for before, named, may in itertools.product(
                servers, images, may_write):
            with self.subTest(before=before, named=named, may_write=may):
                self.assertIs(
                    expected, named_image.meaning(before, named, may))

    def test_no_image_keeps_what_there_is(self):
        self.assert_means(
            Meaning.KEEP, [LOCAL, LOCAL_WITHOUT, *VOLUMES], [None])

    def test_its_own_image_is_as_none(self):
        self.assert_means(
            Meaning.KEEP, [LOCAL, BESIDE, BESIDE_BLANK], [uuids.own])

    def test_without_one_the_image_of_the_volume_is_its_own(self):
        self.assert_means(Meaning.KEEP, [VOLUME], [uuids.on_volume])

    def test_beside_its_own_the_image_of_the_volume_writes_nothing(self):
        self.assert_means(Meaning.TAKE, [BESIDE], [uuids.on_volume])

    def test_another_image_is_written_from_293_on(self):
        self.assert_means(Meaning.WRITE, VOLUMES, [uuids.other], [True])
        self.assert_means(Meaning.TOO_OLD, VOLUMES, [uuids.other], [False])

    def test_a_local_disk_gets_another_image_at_any_time(self):
        self.assert_means(
            Meaning.WRITE, [LOCAL, LOCAL_WITHOUT], [uuids.other])

    def test_on_a_volume_that_may_have_any_image_none_is_kept(self):
        self.assert_means(Meaning.UNKNOWN, UNKNOWN, [None])
        self.assert_means(
            Meaning.WRITE, UNKNOWN, [uuids.own, uuids.on_volume], [True])

    def test_the_form_of_a_uuid_does_not_matter(self):
        forms = [uuids.own.upper(), uuids.own.replace('-', ''),
                 f'urn:uuid:{uuids.own}', f'{{{uuids.own}}}']
        self.assert_means(Meaning.KEEP, [LOCAL, BESIDE], forms)
        self.assert_means(
            Meaning.KEEP, [Before(form, is_volume_backed=True)
                           for form in forms], [uuids.own])
