# SPDX-License-Identifier: Apache-2.0

"""Small parts that need no service of Nova."""

import fixtures
from nova import cache_utils
from nova import exception
from nova.objects import ec2 as nova_ec2
from nova.tests import fixtures as nova_fixtures
import testtools

from cell0_rebuild.api import errors
from cell0_rebuild.conductor import ec2


class Strange(exception.NovaException):
    """An error of Nova that no create answers."""


class TranslationTest(testtools.TestCase):

    def test_what_a_create_would_not_answer_stays_an_error(self):
        def fail():
            with errors.translated():
                raise Strange()
        self.assertRaises(Strange, fail)


class Watched(dict):
    """A cache that another thread works on between any two steps."""

    def __init__(self, step):
        super().__init__()
        self._step = step

    def __getitem__(self, key):
        step, self._step = self._step, lambda: None
        step()
        self._step = step
        return super().__getitem__(key)


class Ec2Test(testtools.TestCase):

    def test_a_nova_that_has_looked_nothing_up_has_nothing_to_forget(self):
        self.useFixture(fixtures.MonkeyPatch('nova.objects.ec2._CACHE', None))
        self.assertIsNone(ec2.forget_id('uuid'))

    def test_of_builds_at_the_same_time_none_fails_with_a_key_error(self):
        self.useFixture(nova_fixtures.ConfFixture())
        client = cache_utils.get_client(expiration_time=60)
        self.useFixture(fixtures.MonkeyPatch(
            'nova.objects.ec2._CACHE', client))
        client.region.backend.cache = Watched(
            lambda: ec2.forget_id('built'))
        asked = []

        @nova_ec2.memoize
        def get_int_id_from_instance_uuid(context, uuid):
            asked.append(uuid)
            return 7

        for uuid in ('built', 'other', 'built'):
            self.assertEqual(7, get_int_id_from_instance_uuid(None, uuid))
        self.assertEqual(['built', 'other', 'built'], asked)
