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

"""Enabled, the package costs nothing on the way of ordinary requests."""

import unittest

from nova.tests import fixtures as nova_fixtures

from tests.functional import base
from tests.functional import counting


class _Scenario(base.FunctionalTestCase):
    """The same requests, with and without the package."""

    def scenario(self):
        self.useFixture(nova_fixtures.CastAsCallFixture(self))
        self.useFixture(nova_fixtures.SpawnIsSynchronousFixture())
        counts = self.useFixture(counting.CountingFixture())
        with counts.step('burial'):
            buried = self._post()
        with counts.step('delete from cell0'):
            self.api.delete_server(buried['id'])
        self._start_compute('host1')
        with counts.step('create'):
            server = self._post()
        with counts.step('show'):
            shown = self.api.get_server(server['id'])
        self.assertEqual('ACTIVE', shown['status'])
        with counts.step('list'):
            self.api.get_servers()
        with counts.step('rebuild'):
            self.api.post_server_action(
                server['id'], {'rebuild': {'imageRef': shown['image']['id']}})
        with counts.step('rebuild with another image'):
            self.api.post_server_action(server['id'], {'rebuild': {
                'imageRef': self.glance.auto_disk_config_enabled_image['id']}})
        self.assertEqual('ACTIVE', self.api.get_server(
            server['id'])['status'])
        with counts.step('delete'):
            self.api.delete_server(server['id'])
        type(self).steps = counts.steps

    def _post(self):
        return self.api.post_server({
            'server': self._build_server(networks='none')})


class _Stock(_Scenario):
    enabled = False


class _Enabled(_Scenario):
    enabled = True


class UnaffectedTest(unittest.TestCase):

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        # The first run fills the caches of the process.
        for scenario in (_Stock, _Stock, _Enabled):
            result = unittest.TestResult()
            scenario('scenario').run(result)
            if not result.wasSuccessful():
                raise AssertionError(result.errors + result.failures)

    def test_ordinary_requests_make_the_same_statements_and_calls(self):
        for step, stock in _Stock.steps.items():
            if step == 'burial':
                continue
            with self.subTest(step):
                self.assertGreater(stock.total(), 2)
                enabled = _Enabled.steps[step]
                self.assertEqual({}, enabled - stock, 'more than stock')
                self.assertEqual({}, stock - enabled, 'less than stock')

    def test_a_burial_costs_one_look_up_and_one_write_more(self):
        stock, enabled = _Stock.steps['burial'], _Enabled.steps['burial']
        self.assertEqual(stock, enabled & stock)
        more = sorted(text.split()[1] for text in (enabled - stock).elements())
        self.assertEqual(['SELECT', 'UPDATE'], more)
        self.assertTrue(all(
            'request_specs' in text for text in enabled - stock))
