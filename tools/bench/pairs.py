# SPDX-License-Identifier: Apache-2.0

"""The rebuild against its alternatives: time, in interleaved rounds."""

import random
import time

import real


def measure(rounds, make_cloud=real.Cloud):
    """Return the samples of each way to get a server, in seconds."""
    with make_cloud() as cloud:
        buried = cloud.bury(2 * rounds + 2)
        launched = cloud.create()
        cloud.wait_until_active(launched)
        return take_turns(cloud, rounds, {
            'create': cloud.create,
            'delete and create': lambda: cloud.replace(buried.pop()),
            'rebuild of a launched server':
                lambda: cloud.rebuild_launched(launched),
            'rebuild of a buried server': lambda: cloud.rebuild(buried.pop()),
        }, kept={launched})


def take_turns(cloud, rounds, acts, kept=()):
    """Return the samples of each act.

    A round does each once, in an order of its own; all have as many servers on
    the host.

    :param acts: what asks for a server and returns its ID, by name.
    :param kept: servers that are not removed after that.
    """
    shuffle = random.Random(1)
    found = {name: [] for name in acts}
    # The first of each fills what the processes remember.
    for number in range(rounds + 1):
        names = list(acts)
        shuffle.shuffle(names)
        for name in names:
            taken = sample(cloud, acts[name], kept)
            if number:
                found[name].append(taken)
    return found


def sample(cloud, act, kept=()):
    """Return what one act takes, in seconds."""
    before, began = cloud.usage(), time.perf_counter()
    server = act()
    answered = time.perf_counter()
    cloud.wait_until_active(server)
    active = time.perf_counter()
    cloud.wait_until_clear(server)
    cpu = real.spent(before, cloud.usage())
    if server not in kept:
        cloud.remove(server)
    return {'answer': answered - began, 'active': active - began, 'cpu': cpu}
