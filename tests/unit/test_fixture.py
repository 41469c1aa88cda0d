# SPDX-License-Identifier: Apache-2.0

"""The fixture for tests that use the package."""

from unittest import mock

import fixtures
from nova.api.openstack.compute import versions
from nova.compute import api
from nova import objects
from nova.objects import base
from oslo_config import cfg
import testtools

from cell0_rebuild import activation
from cell0_rebuild import exceptions
from cell0_rebuild import fixture
from cell0_rebuild import patching


def state():
    """Return whatever the package changes in Nova, by its name."""
    found = {}
    for change in activation.load(('objects', 'api', 'conductor')).changes:
        if isinstance(change, patching.Patch):
            owner, attribute = change.target.owner()
            found[str(change)] = vars(owner)[attribute]
    found['VERSIONS'] = versions.VERSIONS['v2.1']['version']
    found['RequestSpec'] = objects.RequestSpec
    found['registered'], = (
        base.NovaObjectRegistry.obj_classes()['RequestSpec'])
    return found


def common(one, other):
    """Return the names of what is identical in two states."""
    return sorted(name for name in one if one[name] is other[name])


class Cell0RebuildFixtureTest(testtools.TestCase):

    def setUp(self):
        super().setUp()
        with fixture.Cell0RebuildFixture():
            pass  # it has imported what it patches

    def test_the_identical_objects_are_back_afterwards(self):
        before = state()
        with fixture.Cell0RebuildFixture():
            pass
        self.assertEqual(sorted(before), common(before, state()))

    def test_nothing_is_patched_when_a_target_does_not_match(self):
        before = state()
        with mock.patch.object(api.API, 'rebuild', lambda self: None):
            failed = self.assertRaises(
                fixtures.MultipleExceptions,
                fixture.Cell0RebuildFixture().setUp)
        error = failed.args[0][1]
        self.assertIsInstance(error, exceptions.PatchMismatch)
        self.assertIn('API.rebuild has the signature', str(error))
        self.assertEqual(sorted(before), common(before, state()))

    def test_everything_is_patched_each_time(self):
        before = state()
        for _ in range(2):
            with fixture.Cell0RebuildFixture():
                self.assertEqual([], common(before, state()))

    def test_an_option_has_the_given_value_and_then_its_default(self):
        with fixture.Cell0RebuildFixture(api_microversion='2.93'):
            self.assertEqual('2.93', cfg.CONF.cell0_rebuild.api_microversion)
        self.assertIsNone(cfg.CONF.cell0_rebuild.api_microversion)

    def test_nothing_is_shown_for_a_stock_microversion(self):
        before = state()['VERSIONS']
        with fixture.Cell0RebuildFixture(api_microversion='2.93'):
            self.assertEqual(before, state()['VERSIONS'])
