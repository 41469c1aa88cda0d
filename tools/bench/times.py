# SPDX-License-Identifier: Apache-2.0

"""The rebuild against its alternatives: time, in interleaved rounds."""

import random
import time

import real


def measure(options):
    """Return the samples of each way to get a server, in seconds.

    A round does each once, in an order of its own; all have as many servers on
    the host.
    """
    rounds = options.rounds
    with real.Cloud() as cloud:
        buried = cloud.bury(2 * rounds + 2)
        launched = cloud.create()
        cloud.wait_until_active(launched)
        ways = {
            'create': cloud.create,
            'delete and create': lambda: cloud.replace(buried.pop()),
            'rebuild of a launched server':
                lambda: cloud.rebuild_launched(launched),
            'rebuild of a buried server': lambda: cloud.rebuild(buried.pop()),
        }
        shuffle = random.Random(1)
        found = {name: [] for name in ways}
        # The first of each fills what the processes remember.
        for number in range(rounds + 1):
            for name in shuffle.sample(list(ways), len(ways)):
                taken = _sample(cloud, ways[name], launched)
                if number:
                    found[name].append(taken)
        return found


def _sample(cloud, ask, kept):
    """Return what it takes to get a server, in seconds.

    :param ask: asks for it and returns its ID.
    :param kept: a server that is not removed after that.
    """
    before, began = cloud.usage(), time.perf_counter()
    server = ask()
    answered = time.perf_counter()
    cloud.wait_until_active(server)
    active = time.perf_counter()
    cloud.wait_until_clear(server)
    cpu = cloud.spent(before)
    if server != kept:
        cloud.remove(server)
    return {'answer': answered - began, 'active': active - began, 'cpu': cpu}
