# SPDX-License-Identifier: Apache-2.0

"""Prometheus reads what a sweep has found, with exact figures."""

from cell0_rebuild.wait import metrics
from tests.functional import base
from tests.functional.wait import sweeping


class MetricsTestCase(sweeping.SweepMixin, base.FunctionalTestCase):

    def setUp(self):
        super().setUp()
        self.metrics = metrics.Metrics()
        self.fill()
        for vcpus in (1, 1, 2):
            self.wait_for_room(flavorRef=self._create_flavor(vcpu=vcpus))

    def assert_gauges(self, **values):
        """Sweep; check what the gauges show then."""
        self.metrics.note(self.sweeper.sweep(), 1.0)
        self.assertEqual(values, {
            name: self.metrics.registry.get_sample_value(
                f'cell0_rebuild_wait_{name}') for name in values})

    def test_shapes_and_projects_without_the_role_are_gauges(self):
        self.assert_gauges(shapes=2.0, projects_without_role=0.0)
        self.make_room(4)
        self.keystone.projects = []
        self.assert_gauges(shapes=2.0, projects_without_role=1.0)
        self.assertEqual({'blocked': 3.0}, self.waiting())

    def test_servers_that_rest_have_no_shape_and_lack_the_role(self):
        self.make_room(4)
        self.keystone.projects = []
        self.sweeper.sweep()
        self.assert_gauges(shapes=0.0, projects_without_role=1.0)

    def waiting(self):
        """Return how many servers wait for each reason, if any do."""
        [family] = [family for family in self.metrics.registry.collect()
                    if family.name == 'cell0_rebuild_wait_servers']
        return {sample.labels['reason']: sample.value
                for sample in family.samples if sample.value}
