# SPDX-License-Identifier: Apache-2.0

"""What activation adds to the start and the memory of a service."""

import time

import real

from tests.integration import processes
from tests.integration import settings


def measure(options):
    """Return the samples of services, stock and enabled, in turn."""
    found = {}
    with real.Cloud() as cloud:
        for number in range(options.rounds + 1):
            for kind in ('stock', 'enabled'):
                for service, start in (('nova-api', _api),
                                       ('nova-conductor', _conductor)):
                    sample = start(cloud.fixture, kind)
                    if number:
                        found.setdefault(service, {}).setdefault(
                            kind, []).append(sample)
    return found


def _api(cloud, kind):
    changes = [settings.ENABLED] if kind == 'enabled' else []
    began = time.perf_counter()
    with cloud.another_api(f'api-{kind}', *changes) as (process, client):
        # Its first answer is what it loads all extensions for.
        client.get('/servers/detail')
        return _sample(process, began)


def _conductor(cloud, kind):
    name = f'conductor-{kind}'
    having = {'enabled': ['conductor'], 'stock': []}
    having[kind] = [*having[kind], name]
    began = time.perf_counter()
    cloud.conductors(**having)
    try:
        return _sample(cloud.conductor(name), began)
    finally:
        cloud.conductors(enabled=['conductor'])


def _sample(process, began):
    seconds = time.perf_counter() - began
    if process.ended:
        raise processes.ProcessError(process.output[-3000:])
    [(cpu, memory)] = real.usage({process.pid: 'it'}).values()
    return {'seconds': seconds, 'cpu': cpu, 'mib': memory}
