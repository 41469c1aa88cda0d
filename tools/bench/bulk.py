# SPDX-License-Identifier: Apache-2.0

"""Many servers at once, by some clients: rebuilds against creates."""

import concurrent.futures
import queue
import time

import real

from tests.integration import clients

CLIENTS = (1, 8, 32)
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
    waiting = queue.SimpleQueue()
    buried = cloud.bury(count) if kind == 'rebuild' else [None] * count
    cloud.fixture.open_host()
    for server in buried:
        waiting.put(server)
    before, began = cloud.usage(), time.perf_counter()
    with concurrent.futures.ThreadPoolExecutor(number) as executor:
        done = [future.result() for future in [
            executor.submit(_client, cloud, kind, waiting)
            for _ in range(number)]]
    answered = time.perf_counter() - began
    servers = [server for client in done for server, *_ in client if server]
    failed = [error for client in done for *_, error in client if error]
    lost = cloud.wait_until_ended(*servers)
    active = time.perf_counter() - began
    if kind == 'rebuild':
        cloud.wait_until_clear(*{*servers} - {*lost})
    cpu = real.spent(before, cloud.usage())
    cloud.remove_all(servers)
    return {
        'servers': len(servers) - len(lost),
        'failed': failed + [f'{server} is in ERROR' for server in lost],
        'answered': answered,
        'active': active, 'cpu': cpu,
        'waits': [seconds for client in done for _, seconds, _ in client]}


def _client(cloud, kind, waiting):
    """Do what is waiting; return [(server or None, seconds, error or None)].
    """
    api = clients.Client(cloud.api.url)
    done = []
    while True:
        try:
            server = waiting.get_nowait()
        except queue.Empty:
            return done
        began, error = time.perf_counter(), None
        try:
            server = (cloud.create(api) if kind == 'create'
                      else cloud.rebuild(server, api))
        except Exception as raised:
            server, error = None, str(raised)
        done.append((server, time.perf_counter() - began, error))
