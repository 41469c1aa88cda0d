# SPDX-License-Identifier: Apache-2.0

"""The rebuild against its alternatives: time, in interleaved rounds."""

import random
import time

import real

WAYS = ('create', 'delete and create', 'rebuild of a launched server',
        'rebuild of a buried server')


def measure(rounds, make_cloud=real.Cloud):
    """Return the samples of each way, in seconds.

    A round does each way once, in an order of its own; all have as many
    servers on the host.
    """
    shuffle = random.Random(1)
    found = {way: [] for way in WAYS}
    with make_cloud() as cloud:
        buried = cloud.bury(2 * rounds + 2)
        launched = cloud.create()
        cloud.wait_until_active(launched)
        # The first of each fills what the processes remember.
        for number in range(rounds + 1):
            ways = list(WAYS)
            shuffle.shuffle(ways)
            for way in ways:
                sample = _measure(cloud, way, buried, launched)
                if number:
                    found[way].append(sample)
    return found


def _measure(cloud, way, buried, launched):
    act = {
        'create': cloud.create,
        'delete and create': lambda: cloud.replace(buried.pop()),
        'rebuild of a launched server':
            lambda: cloud.rebuild_launched(launched),
        'rebuild of a buried server': lambda: cloud.rebuild(buried.pop()),
    }[way]
    before, began = cloud.usage(), time.perf_counter()
    server = act()
    answered = time.perf_counter()
    cloud.wait_until_active(server)
    active = time.perf_counter()
    cloud.wait_until_clear(server)
    cpu = real.spent(before, cloud.usage())
    if server != launched:
        cloud.remove(server)
    return {'answer': answered - began, 'active': active - began, 'cpu': cpu}
