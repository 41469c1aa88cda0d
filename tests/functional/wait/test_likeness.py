# SPDX-License-Identifier: Apache-2.0

"""Servers that the filters of the scheduler take alike, and others."""

import copy

from nova import context as nova_context

from cell0_rebuild.wait.demand import kinds
from tests.functional import base

ANOTHER_IMAGE = '1b7f61c1-05cd-4b34-9a5e-2ae6e6b7b9aa'


class FiltersTestCase(base.FunctionalTestCase):

    def kinds(self, *servers):
        """Return the kind of each server."""
        found = kinds.Kinds(nova_context.get_admin_context()).of(
            [server['id'] for server in servers], lambda uuid: 'project')
        return [found[server['id']] for server in servers]

    def test_who_differs_in_what_filters_read_is_of_another_kind(self):
        image = copy.deepcopy(self.glance.image1)
        image['properties']['hw_architecture'] = 'aarch64'
        self.glance.create(None, {**image, 'id': ANOTHER_IMAGE})
        usual = {'flavorRef': self._create_flavor(),
                 'imageRef': image['id']}
        other = {**usual, 'imageRef': ANOTHER_IMAGE}
        capable = {**usual, 'flavorRef': self._create_flavor(
            extra_spec={'capabilities:cpu_info': 'x'})}
        servers = [self.bury(**usual), self.bury(**other),
                   self.bury(**capable)]
        hinted = self._build_server(networks='none')
        hinted.update(usual)
        hinted = self.api.api_post('/servers', {
            'server': hinted, 'os:scheduler_hints': {
                'different_host': servers[0]['id']}}).body['server']
        servers.append(self._wait_for_state_change(hinted, 'ERROR'))
        found = self.kinds(*servers)
        self.assertEqual(4, len(set(found)))
        # Nova wants all candidates for this hint.
        self.assertEqual(1, len({kind.shape for kind in found[:3]}))

    def test_names_networks_and_ports_make_no_other_kind(self):
        usual = {'flavorRef': self._create_flavor(),
                 'imageRef': self.glance.image1['id']}
        network = {'uuid': self.neutron.network_1['id']}
        found = self.kinds(
            self.bury(name='one', networks=[network], **usual),
            self.bury(metadata={'a': 'b'}, networks=[network], **usual),
            self.bury(networks=[{'port': self.neutron.port_1['id']}],
                      **usual))
        self.assertEqual(1, len(set(found)))
