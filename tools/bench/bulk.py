# SPDX-License-Identifier: Apache-2.0

"""Many servers at once, by some clients: rebuilds against creates."""

import concurrent.futures
import functools
import threading
import time

import real

from tests.integration import clients

CLIENTS = (1, 8, 32)
# The client of each thread.
_local = threading.local()
# Each build has a compute ask Placement for all the servers that it has.
HOSTS = 10


def measure(servers, parts, numbers):
    """Return what was measured with some clients, by their number.

    :param servers: of each kind and number of clients.
    :param parts: that they are done in, in turn with those of the other kind.
    """
    found = {}
    with real.Cloud(HOSTS) as cloud:
        for number in numbers:
            found[number] = {'create': [], 'rebuild': []}
            for part in range(parts):
                kinds = ['create', 'rebuild']
                for kind in kinds if part % 2 else kinds[::-1]:
                    found[number][kind].append(
                        sample(cloud, kind, number, servers // parts))
    return found


def sample(cloud, kind, number, count):
    """Have clients create or rebuild servers; return what that took."""
    buried = cloud.bury(count) if kind == 'rebuild' else [None] * count
    cloud.fixture.open_host()
    before, began = cloud.usage(), time.perf_counter()
    with concurrent.futures.ThreadPoolExecutor(number) as executor:
        done = list(executor.map(functools.partial(_ask, cloud, kind), buried))
    answered = time.perf_counter() - began
    servers = [server for server, *_ in done if server]
    failed = [error for *_, error in done if error]
    lost = cloud.wait_until_ended(*servers)
    active = time.perf_counter() - began
    if kind == 'rebuild':
        cloud.wait_until_clear(*{*servers} - {*lost})
    cpu = real.spent(before, cloud.usage())
    cloud.remove_all(servers)
    return {
        'servers': len(servers) - len(lost),
        'failed': failed + [f'{server} is in ERROR' for server in lost],
        'answered': answered, 'active': active, 'cpu': cpu,
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
