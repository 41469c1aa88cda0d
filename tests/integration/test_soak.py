# SPDX-License-Identifier: Apache-2.0

"""Servers wait and come back while clients do anything and services die."""

import contextlib
import json
import os
import random
import re
import threading

from tests.integration import base
from tests.integration import clients
from tests.integration import processes
from tests.integration import stress
from tests.integration import stress_base

CLIENTS = 4
SERVERS = int(os.environ.get('CELL0_REBUILD_SOAK', '20'))
# How long a service lives, in seconds.
LIFE = min(30, stress_base.SECONDS // 3)

# Ten servers fit on a host.
_SMALL = {'DEFAULT': {'cpu_allocation_ratio': '1.0'}}

# Why a server may be left in cell0 at the end.
_REASONS = {'capacity', 'order', 'scheduler', 'backoff', 'quota', 'locked',
            'blocked', 'broken-hosts', 'expired'}

# How long servers wait: the time of some is over before the end.
_WISHES = [{'cell0_rebuild_wait': wish} for wish in (*['1d'] * 9, '20s')]

CLOUD = None


def setUpModule():
    global CLOUD
    CLOUD = base.shared_cloud()
    CLOUD.conductors(enabled=['one', 'two'])
    for host in ('host', 'other'):
        CLOUD.add_host(host, _SMALL)


class SoakTest(stress_base.StressTestCase):

    def setUp(self):
        super().setUp()
        self.services = [
            self.cloud.start_waiting_service(backoff='10s')
            for _ in range(2)]

    def test_at_the_end_each_is_there_once_and_waits_for_a_true_reason(self):
        crowd = stress.Crowd(
            self.cloud, stress_base.SEED, _WISHES)
        chance = random.Random(stress_base.SEED)
        self.cloud.close_hosts()
        for _ in range(SERVERS):
            crowd.add(self.cloud.api, chance).raise_for_status()
        with self.disturbed(chance) as killed:
            crowd.run(CLIENTS, stress_base.SECONDS)
        self.cloud.close_hosts()
        self.assertGreater(len(killed), 1)
        self.assert_right(crowd)
        self.assertGreater(len(self.came_back(crowd)), 0, self.story(crowd))
        self.assert_reasons()

    @contextlib.contextmanager
    def disturbed(self, chance):
        """Kill a service and change the quota, again and again."""
        killed, over = [], threading.Event()
        client = clients.Client(self.cloud.url)

        def disturb():
            while not over.wait(LIFE):
                service = self.services[len(killed) % len(self.services)]
                service.kill()
                killed.append(service)
                self.limit(client, chance.choice((-1, SERVERS // 2)))
                service.start()
        thread = threading.Thread(target=disturb)
        thread.start()
        try:
            yield killed
        finally:
            over.set()
            thread.join()
            self.limit(client, -1)

    def limit(self, client, instances):
        """Change how many servers the project may have."""
        client.ask('PUT', '/os-quota-sets/project', {'quota_set': {
            'instances': instances, 'force': True}}).raise_for_status()

    def came_back(self, crowd):
        """Return the servers that are ACTIVE and that no client rebuilt."""
        return [one for one in self.cloud.api.get('/servers/detail')['servers']
                if one['status'] == 'ACTIVE'
                and not crowd.servers[one['id']].rebuilt]

    def assert_reasons(self):
        """Check that each owner reads of a server what is so."""
        def differ():
            code, text = self.cloud.command(
                'manage', 'wait', 'list', '--format', 'json', changes=[])
            self.assertEqual(0, code, text)
            # What is logged stands around it.
            listed, _ = json.JSONDecoder().raw_decode(
                text, re.search(r'(?m)^\[$', text).start())
            found = {one['server']: one['reason'] for one in listed}
            self.assertLessEqual(set(found.values()), _REASONS)
            return {server: (reason, self.told(server))
                    for server, reason in found.items()
                    if self.told(server) != [reason]}

        # A service looks at each once a minute, and tells some of them.
        with contextlib.suppress(processes.ProcessError):
            processes.poll(lambda: not differ(), 'that all were told', 240)
        self.assertEqual({}, differ())

    def told(self, server):
        """Return the codes that the owner of a server reads."""
        return [action['message'].partition(':')[0]
                for action in self.cloud.api.get(
                    f'/servers/{server}/os-instance-actions'
                )['instanceActions'] if action['action'] == 'wait']
