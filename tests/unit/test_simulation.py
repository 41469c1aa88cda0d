# SPDX-License-Identifier: Apache-2.0

"""The simulation of waiting: its figures, and the targets in a part of it."""

import dataclasses
import statistics

import ddt
from nova import objects
from nova.scheduler import weights
from nova.scheduler.weights import cpu
from nova.scheduler.weights import ram
from nova.tests.unit.scheduler import fakes
import testtools

from cell0_rebuild.wait import values
from tools.simulation import cloud
from tools.simulation import offenders
from tools.simulation import parts
from tools.simulation import results
from tools.simulation import workload

SMALL, LARGE = workload.Flavor(1, 1.75), workload.Flavor(8, 56)
SEED = 1


class TargetsTest(testtools.TestCase):
    """One of the five seeds of an outage."""

    def test_the_service_reaches_its_targets(self):
        polling, fair = (
            parts.run(workload.SCENARIOS['outage'], SEED,
                      parts.POLICIES[way])
            for way in (results.POLLING, 'service, fair'))
        self.assertLess(5000, fair['placed'])
        self.assertLess(fair['calls'], 2)
        self.assertLess(fair['disturbed'], 0.5)
        self.assertEqual(0, fair['inversions'])
        self.assertLess(fair['others'] / polling['others'], 0.25)

    def test_refusals_do_not_repeat_where_hosts_are_down(self):
        # Placement offers them all the time. Two hours show it as twelve do.
        scenario = dataclasses.replace(
            workload.SCENARIOS['outage'], down=20, hours=2, until=3)
        found = parts.run(
            scenario, SEED, parts.POLICIES['service, fair'])
        self.assertLess(5000, found['placed'])
        self.assertLess(found['calls'], 2)
        # Seeds differ: four give 0.147 to 0.167. Of this one, it is 0.154, and
        # 0.189 if shapes do not rest.
        self.assertLess(found['disturbed'], 0.175)


@ddt.ddt
class OffendersTest(testtools.TestCase):
    """A part of one seed of what is full."""

    # Where builds of many projects fail, hosts may be broken: all wait.
    @ddt.data(*sorted(offenders.OFFENDERS.keys() - {offenders.BROKEN}))
    def test_others_wait_little_longer_beside(self, name):
        scenario = dataclasses.replace(
            workload.SCENARIOS['full'], hours=1, until=1.5, floods=(0,))
        alone, beside = (
            parts.run(scenario, SEED, parts.OFFENDERS[way])
            for way in (results.NOBODY, name))
        self.assertLess(0.97 * alone['placed'], beside['placed'])
        # Minutes, because each project is found out by its first failure, and
        # has a part of the places alone: its builds might take very long.
        self.assertLess(60 * (beside['others'] - alone['others']), 5)


class WorkloadTest(testtools.TestCase):

    def setUp(self):
        super().setUp()
        self.asked = workload.Workload(workload.SCENARIOS['trickle'], 1)

    def test_a_seed_gives_the_same_servers_again(self):
        again, other = (
            workload.Workload(workload.SCENARIOS['trickle'], seed)
            for seed in (1, 2))
        first, same, different = (
            [dataclasses.astuple(one) for one in asked.requests]
            for asked in (self.asked, again, other))
        self.assertEqual(first, same)
        self.assertNotEqual(first, different)

    def test_means_are_those_of_the_trace(self):
        scenario = dataclasses.replace(
            workload.SCENARIOS['outage'], hours=300, flood=0)
        found = workload.Workload(scenario, 1).requests
        self.assertAlmostEqual(51.8, statistics.fmean(
            one.lifetime for one in found) / workload.HOUR, delta=2)
        self.assertAlmostEqual(2.6, statistics.fmean(
            one.flavor.cores for one in found), delta=0.1)

    def test_those_who_flood_stay_within_their_quotas(self):
        asked = workload.Workload(workload.SCENARIOS['outage'], 1)
        cores = [size * 2.57 for size in asked.sizes]
        for one in asked.requests:
            # A batch takes seconds.
            if one.at < 60:
                cores[one.project] += one.flavor.cores
        for project in asked.flooding:
            self.assertLess(cores[project], asked.quotas[project][0])


class CloudTest(testtools.TestCase):

    def test_large_servers_are_refused_where_the_filters_do(self):
        odd = cloud.Cloud(spreading=True)
        odd.add(0)
        self.assertEqual(
            (1, False),
            (odd.offers(LARGE).hosts, odd.takes(LARGE)))
        self.assertIsNone(odd.schedule(LARGE))
        self.assertEqual(0, odd.schedule(SMALL))

    def test_what_a_server_had_is_free_again(self):
        one = cloud.Cloud(spreading=True)
        one.add(1)
        for _ in range(2):
            one.schedule(LARGE)
        self.assertEqual(
            (values.Room(0, 0), values.Room(1, 27)),
            (one.offers(LARGE), one.offers(SMALL)))
        one.end(1, LARGE)
        self.assertEqual(values.Room(1, 1), one.offers(LARGE))

    def test_it_chooses_as_the_weighers_of_nova_do(self):
        for spreading in (True, False):
            ours = cloud.Cloud(spreading)
            for host in range(1, 9):
                ours.add(host)
            for number in range(60):
                states = [self.state(host, room)
                          for host, room in ours._room_of.items()]
                flavor = SMALL if number % 3 else LARGE
                fitting = [state for state in states
                           if state.room.passes(flavor)]
                host = ours.schedule(flavor)
                if host is not None:
                    self.assertIn(str(host), self.best(fitting, spreading))

    def state(self, host, room):
        """Return a host as Nova's scheduler knows it."""
        state = fakes.FakeHostState(str(host), 'node', {
            'free_ram_mb': room.ram * 1024, 'vcpus_total': workload.CORES,
            'vcpus_used': workload.CORES - room.cores,
            'cpu_allocation_ratio': 1.0})
        state.room = room
        return state

    def best(self, states, spreading):
        """Return the hosts that Nova likes best."""
        weighers = [ram.RAMWeigher(), cpu.CPUWeigher()]
        for weigher in weighers:
            weigher.weight_multiplier = (
                lambda state: 1.0 if spreading else -1.0)
        found = weights.HostWeightHandler().get_weighed_objects(
            weighers, states, objects.RequestSpec())
        return {one.obj.host for one in found
                if abs(one.weight - found[0].weight) < 1e-9}
