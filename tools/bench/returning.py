# SPDX-License-Identifier: Apache-2.0

"""Servers that wait come back when their computes do, against creates."""

import signal
import time

import bulk
import real

# Whoever creates servers meanwhile would do it with so many clients.
CLIENTS = 8
# Only what the service itself takes is to limit it.
OPTIONS = {'per_minute': '100000'}
# How many servers of a shape are on their way: the default, and more.
AT_ONCE = (4, 32)


def measure(servers, parts=2):
    """Return what was measured, by how many may be on their way at once.

    :param servers: of each kind.
    :param parts: that they are done in, in turn with those of the other kind.
    """
    found = {at_once: {'create': [], 'rebuild': []} for at_once in AT_ONCE}
    with real.Cloud(bulk.HOSTS) as cloud:
        for part in range(parts):
            for at_once in AT_ONCE[::-1] if part % 2 else AT_ONCE:
                kinds = found[at_once]
                kinds['create'].append(bulk.sample(
                    cloud, 'create', CLIENTS, servers // parts))
                kinds['rebuild'].append(
                    _sample(cloud, servers // parts, at_once))
    return found


def _sample(cloud, count, at_once):
    """Let servers come back, and return what that took."""
    cloud.fixture.close_hosts()
    servers = [cloud.create(metadata={'cell0_rebuild_wait': '1d'})
               for _ in range(count)]
    cloud.do.wait_for('ERROR', *servers)
    service = cloud.fixture.start_waiting_service(
        at_once=str(at_once), **OPTIONS)
    cloud.wait_until_told(*servers)
    before, began = cloud.usage(), time.perf_counter()
    cloud.fixture.open_host()
    cloud.wait_until_active(*servers)
    active = time.perf_counter() - began
    cloud.wait_until_clear(*servers)
    cpu = real.spent(before, cloud.usage())
    service.signal(signal.SIGTERM)
    service.finish()
    placed = [row for (row,) in cloud.query(
        'SELECT UNIX_TIMESTAMP(launched_at) FROM cell1.instances WHERE '
        'deleted = 0 AND uuid IN %s', servers)]
    cloud.remove_all(servers)
    first = min(placed)
    return {'servers': count, 'failed': [], 'active': active, 'cpu': cpu,
            'waits': [float(moment - first) for moment in placed]}
