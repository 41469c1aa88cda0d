# SPDX-License-Identifier: Apache-2.0

"""A compute on which builds fail, with the driver of tests.

What it says of itself and of guests is what one with libvirt does.
"""

import contextlib

import fixtures
from nova import exception
from nova.virt import fake


class FailingBuilds(fixtures.Fixture):
    """Has the driver fail to spawn, when it is told to."""

    def _setUp(self):
        self._error = None
        available, spawn = (
            fake.FakeDriver.get_available_resource, fake.FakeDriver.spawn)

        def as_libvirt(driver, nodename):
            return {**available(driver, nodename), 'hypervisor_type': 'QEMU'}

        def console(driver, context, instance):
            if instance.uuid not in driver.list_instance_uuids():
                raise exception.InstanceNotFound(instance_id=instance.uuid)
            return ''

        def spawned(*args, **kwargs):
            if self._error:
                raise self._error
            return spawn(*args, **kwargs)
        for name, function in (('get_available_resource', as_libvirt),
                               ('get_console_output', console),
                               ('spawn', spawned)):
            self.useFixture(fixtures.MonkeyPatch(
                f'nova.virt.fake.FakeDriver.{name}', function))

    @contextlib.contextmanager
    def failing(self, error=None):
        """Have each build fail meanwhile.

        :param error: what is raised; one after which others are tried, if it
            is None.
        """
        self._error = error or RuntimeError('no')
        try:
            yield
        finally:
            self._error = None
