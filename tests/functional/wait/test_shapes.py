# SPDX-License-Identifier: Apache-2.0

"""Pinned CPUs also have room on a host that reports no PCPU."""

import json

from tests.functional import base
from tests.functional.wait import commands
from tests.functional.wait import sweeping
from tests.functional.wait import whys


class PinnedTestCase(
        whys.WhyMixin, sweeping.SweepMixin, base.FunctionalTestCase):

    def setUp(self):
        super().setUp()
        self.fill()

    def pinned(self, policy='dedicated', **extra_specs):
        """Return a flavor with two CPUs that are pinned."""
        return self._create_flavor(
            vcpu=2, extra_spec={'hw:cpu_policy': policy, **extra_specs})

    def listed(self):
        """Return why each server waits, as operators see it."""
        _, text = commands.run('list', '--format', 'json')
        return {row['server']: row['reason'] for row in json.loads(text)}

    def test_a_server_comes_back_where_a_create_finds_a_host(self):
        flavor = self.pinned()
        server = self.wait_for_room(flavorRef=flavor)
        self.assert_left_alone(server, code='capacity')
        self.make_room(2)
        self._delete_server(self.created(flavorRef=flavor))
        self.assertEqual({}, self.codes(self.sweeper.sweep()))
        self.active(server)

    def test_a_server_waits_where_a_create_finds_no_host(self):
        flavor = self.pinned('mixed', **{'hw:cpu_dedicated_mask': '^0'})
        server = self.wait_for_room(flavorRef=flavor)
        self.make_room(2)
        self.bury(flavorRef=flavor)
        self.assert_left_alone(server, code='capacity')

    def test_operators_see_that_there_is_room(self):
        server = self.wait_for_room(flavorRef=self.pinned())
        self.assertEqual({server['id']: 'capacity'}, self.listed())
        code, found = self.why(server)
        self.assertEqual((3, 'capacity'), (code, found['reason']))
        self.make_room(2)
        self.assertEqual({server['id']: 'order'}, self.listed())
        code, found = self.why(server)
        self.assertEqual((0, 1), (code, found['hosts']))
        self.assertIn('as many VCPU', found['notes'][0])

    def test_it_waits_where_the_scheduler_does_not_ask_for_vcpu(self):
        self.flags(disable_fallback_pcpu_query=True, group='workarounds')
        flavor = self.pinned()
        server = self.wait_for_room(flavorRef=flavor)
        self.make_room(2)
        self.bury(flavorRef=flavor)
        self.assert_left_alone(server, code='capacity')

    def test_vcpu_of_a_host_that_reports_pcpu_are_no_room(self):
        server = self.wait_for_room(flavorRef=self.pinned())
        self.make_room(2)
        self.offer_pcpus('host1', 1)
        self.assert_left_alone(server, code='capacity')
        self.assertEqual({server['id']: 'capacity'}, self.listed())
        self.assertEqual(3, self.why(server)[0])
        self.offer_pcpus('host1', 2)
        self.assertEqual({}, self.codes(self.sweeper.sweep()))
        self.active(server)
