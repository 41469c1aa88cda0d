# SPDX-License-Identifier: Apache-2.0

"""Servers that wait come back when their computes do, against creates."""

import signal
import time

import bulk
import real

# Whoever creates servers meanwhile would do it with so many clients.
CLIENTS = 8


def measure(options):
    """Return what was measured of creates and of rebuilds, in turn."""
    found = {'create': [], 'rebuild': []}
    count = options.servers // bulk.PARTS
    with real.Cloud(bulk.HOSTS) as cloud:
        for _ in range(bulk.PARTS):
            found['create'].append(
                bulk.sample(cloud, 'create', CLIENTS, count))
            found['rebuild'].append(_sample(cloud, count))
    return found


def _sample(cloud, count):
    """Let servers come back, and return what that took."""
    cloud.fixture.close_hosts()
    servers = [cloud.create(metadata={'cell0_rebuild_wait': '1d'})
               for _ in range(count)]
    cloud.do.wait_for('ERROR', *servers)
    service = cloud.fixture.start_waiting_service(
        # Only what the service itself takes is to limit it.
        per_minute='100000')
    cloud.wait_until_told(*servers)
    before, began = cloud.usage(), time.perf_counter()
    cloud.fixture.open_host()
    cloud.wait_until_active(*servers)
    active = time.perf_counter() - began
    cloud.wait_until_clear(*servers)
    cpu = cloud.spent(before)
    service.signal(signal.SIGTERM)
    service.finish()
    placed = [float(row) for (row,) in cloud.query(
        'SELECT UNIX_TIMESTAMP(launched_at) FROM cell1.instances WHERE '
        'deleted = 0 AND uuid IN %s', servers)]
    cloud.remove_all(servers)
    return {'servers': count, 'active': active, 'cpu': cpu,
            'waits': [moment - min(placed) for moment in placed]}
