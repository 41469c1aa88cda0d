#    Licensed under the Apache License, Version 2.0 (the "License"); you may
#    not use this file except in compliance with the License. You may obtain
#    a copy of the License at
#
#         http://www.apache.org/licenses/LICENSE-2.0
#
#    Unless required by applicable law or agreed to in writing, software
#    distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
#    WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
#    License for the specific language governing permissions and limitations
#    under the License.

"""Cell0RebuildFixture enables the package and takes it back."""

import fixtures
from nova.api.openstack.compute import versions
from nova.compute import api
import nova.objects
from nova import test
from oslo_config import cfg

from cell0_rebuild import exceptions
from cell0_rebuild import fixture
from cell0_rebuild import internals

_PATCHED = (
    internals.SET_API_VERSION, internals.REBUILD_ACTION, internals.REBUILD,
    internals.DELETE_WHILE_BOOTING, internals.SERVICE_START,
    internals.SERVICE_STOP, internals.SCHEDULE_AND_BUILD,
    internals.BURY_IN_CELL0)


class FixtureTest(test.NoDBTestCase):

    def test_its_clean_up_puts_the_identical_objects_back(self):
        before = self._objects()
        with fixture.Cell0RebuildFixture():
            inside = self._objects()
            self.assertEqual([], [
                name for name, found in inside.items()
                if found is before[name]])
        after = self._objects()
        self.assertEqual([], [
            name for name, found in after.items()
            if found is not before[name]])

    def test_it_takes_values_for_the_options(self):
        with fixture.Cell0RebuildFixture(answer_timeout=7):
            self.assertEqual(7, cfg.CONF.cell0_rebuild.answer_timeout)
        self.assertEqual(5, cfg.CONF.cell0_rebuild.answer_timeout)

    def test_nothing_is_enabled_when_a_target_does_not_match(self):
        before = self._objects()
        self.useFixture(fixtures.MockPatchObject(
            api.API, 'rebuild', lambda self: None))
        failed = self.assertRaises(
            fixtures.MultipleExceptions, fixture.Cell0RebuildFixture().setUp)
        error = failed.args[0][1]
        self.assertIsInstance(error, exceptions.PatchMismatch)
        self.assertIn('API.rebuild has the signature', str(error))
        changed = [name for name, found in self._objects().items()
                   if found is not before[name]]
        self.assertEqual([str(internals.REBUILD)], changed)

    def _objects(self):
        found = {}
        for target in _PATCHED:
            __import__(target.module)
            owner, attribute = target.owner()
            found[str(target)] = vars(owner)[attribute]
        found['RequestSpec'] = nova.objects.RequestSpec
        found['version'] = versions.VERSIONS['v2.1']['version']
        return found
