# SPDX-License-Identifier: Apache-2.0

"""Guests that exist only in the memory of nova-compute."""

from nova.compute import power_state
from nova import context as nova_context
from nova import objects
from nova.virt import fake


class Driver(fake.FakeDriverWithoutFakeNodes):
    """Nova's fake driver for a host that can be restarted."""

    vcpus = 16
    memory_mb = 65536
    local_gb = 2000

    def init_host(self, host):
        """Find the guests that a host has after a restart of its service."""
        super().init_host(host)
        for instance in objects.InstanceList.get_by_host(
                nova_context.get_admin_context(), host):
            if instance.power_state in (
                    power_state.RUNNING, power_state.SHUTDOWN):
                self.instances[instance.uuid] = fake.FakeInstance(
                    instance.name, instance.power_state, instance.uuid)
