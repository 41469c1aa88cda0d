# SPDX-License-Identifier: Apache-2.0

"""Nova's stand-in for Cyborg, with as many accelerators as are asked for."""

from nova import exception
from nova.tests import fixtures as nova_fixtures
from oslo_utils import uuidutils


class Cyborg(nova_fixtures.CyborgFixture):
    """Makes accelerator requests, and knows which server has which.

    Nova's has four for all tests of a process.

    :ivar requests: those that were not deleted, by ID.
    """

    def __init__(self):
        super().__init__()
        self.requests = {}

    def add_device(self, test):
        """Give the only compute of a test accelerators.

        :returns: a flavor that asks for one.
        """
        [root] = test._get_all_providers()
        device = test.placement.post('/resource_providers', {
            'name': 'device', 'parent_provider_uuid': root['uuid'],
        }, version='1.20').body['uuid']
        test._update_inventory(device, {
            'resource_provider_generation': 0,
            'inventories': {'FPGA': {'total': 1000}}})
        test._create_trait(self.trait)
        test._set_provider_traits(device, [self.trait])
        # Those without a flavor get the one whose ID comes first.
        return test._create_flavor(id='device', name='device', extra_spec={
            'accel:device_profile': self.dp_name})

    def fail_to_bind(self):
        """Fail to bind accelerators, once."""
        bind = self.mock_bind_arqs.side_effect

        def fail(bindings):
            self.mock_bind_arqs.side_effect = bind
            raise exception.AcceleratorRequestBindingFailed(
                arqs=list(bindings), msg='no')
        self.mock_bind_arqs.side_effect = fail

    def of(self, server_id):
        """Return the IDs of the requests that are bound to a server."""
        return [found['uuid'] for found in
                self.fake_get_arqs_for_instance(server_id)]

    def fake_create_arqs(self, dp_name):
        """Replace Nova's, which has no more at some time."""
        made = {**self.bound_arq_list[0], 'uuid': uuidutils.generate_uuid()}
        self.requests[made['uuid']] = made
        return [made]

    def fake_bind_arqs(self, bindings):
        """Replace Nova's, for the requests that are known here."""
        for identity, binding in bindings.items():
            self.requests[identity].update(binding)

    def fake_get_arqs_for_instance(self, instance_uuid, only_resolved=False):
        """Replace Nova's, for the requests that are known here."""
        return [dict(found) for found in list(self.requests.values())
                if found['instance_uuid'] == instance_uuid]

    def fake_get_arq_by_uuid(self, uuid):
        """Replace Nova's, for the requests that are known here."""
        return self.requests.get(uuid)

    def fake_delete_arqs_for_instance(self, instance_uuid):
        """Replace Nova's, for the requests that are known here."""
        self.fake_delete_arqs_by_uuid(self.of(instance_uuid))

    def fake_delete_arqs_by_uuid(self, arq_uuids):
        """Replace Nova's, for the requests that are known here."""
        for identity in arq_uuids:
            self.requests.pop(identity, None)
