# SPDX-License-Identifier: Apache-2.0

"""Which of the services in this process is at work."""

import sys
import threading

import fixtures
from nova import context as nova_context

# The innermost of these in a stack tells: nova-api calls Placement in its own
# thread here, and a conductor the builds of Nova's. Debian's packages are in
# dist-packages.
_PLACES = (
    ('-packages/placement/', 'placement'),
    ('/nova/scheduler/manager.py', 'scheduler'),
    ('/nova/compute/manager.py', 'compute'),
    ('/nova/conductor/manager.py', 'conductor'),
    ('/cell0_rebuild/conductor/endpoint.py', 'conductor'),
    ('/cell0_rebuild/rpcapi.py', 'api'),
    ('/nova/api/openstack/', 'api'),
)

_asked_by = threading.local()


def at_work():
    """Return the name of the service whose code is being run."""
    frame = sys._getframe(1)
    while frame is not None:
        for part, service in _PLACES:
            if part in frame.f_code.co_filename:
                return service
        frame = frame.f_back
    return getattr(_asked_by, 'service', 'other')


class Services(fixtures.Fixture):
    """Knows the service also in the threads that ask each cell."""

    def _setUp(self):
        scatter = nova_context.scatter_gather_cells

        def scattered(context, cells, timeout, function, *args, **kwargs):
            service = at_work()

            def ask(*args, **kwargs):
                _asked_by.service = service
                return function(*args, **kwargs)
            return scatter(context, cells, timeout, ask, *args, **kwargs)
        self.useFixture(fixtures.MonkeyPatch(
            'nova.context.scatter_gather_cells', scattered))
