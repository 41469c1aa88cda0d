# SPDX-License-Identifier: Apache-2.0

"""Many servers at once, by some clients: rebuilds against creates."""

import concurrent.futures
import functools
import threading
import time

import real

from tests.integration import clients

CLIENTS = (1, 8, 32)
# Each build has a compute ask Placement for all the servers that it has.
HOSTS = 10
# The servers of each kind are in two parts, in turn with the other kind.
PARTS = 2
# The client of each thread.
_local = threading.local()


def measure(options):
    """Return what was measured with some clients, by their number."""
    found = {number: {'create': [], 'rebuild': []} for number in CLIENTS}
    with real.Cloud(HOSTS) as cloud:
        for number, kinds in found.items():
            for part in range(PARTS):
                for kind in list(kinds) if part % 2 else list(kinds)[::-1]:
                    kinds[kind].append(sample(
                        cloud, kind, number, options.servers // PARTS))
    return found


def sample(cloud, kind, number, count):
    """Have clients create or rebuild servers; return what that took."""
    buried = cloud.bury(count) if kind == 'rebuild' else [None] * count
    cloud.fixture.open_host()
    before, began = cloud.usage(), time.perf_counter()
    with concurrent.futures.ThreadPoolExecutor(number) as executor:
        done = list(executor.map(functools.partial(_ask, cloud, kind), buried))
    servers = [server for server, *_ in done if server]
    failed = [error for *_, error in done if error]
    lost = cloud.wait_until_ended(*servers)
    active = time.perf_counter() - began
    if kind == 'rebuild':
        cloud.wait_until_clear(*{*servers} - {*lost})
    cpu = cloud.spent(before)
    cloud.remove_all(servers)
    return {
        'servers': len(servers) - len(lost),
        'failed': failed + [f'{server} is in ERROR' for server in lost],
        'active': active, 'cpu': cpu,
        'waits': [seconds for _, seconds, _ in done]}


def _ask(cloud, kind, server):
    """Have a server; return (its ID or None, seconds, error or None)."""
    if not hasattr(_local, 'api'):
        _local.api = clients.Client(cloud.api.url)
    began, error = time.perf_counter(), None
    try:
        server = (cloud.create(_local.api) if kind == 'create'
                  else cloud.rebuild(server, _local.api))
    except Exception as raised:
        server, error = None, str(raised)
    return server, time.perf_counter() - began, error
