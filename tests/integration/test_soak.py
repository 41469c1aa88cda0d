# SPDX-License-Identifier: Apache-2.0

"""Servers wait and come back while clients do anything and services die."""

import collections
import concurrent.futures
import contextlib
import json
import os
import random
import re

from tests.integration import cloud
from tests.integration import processes
from tests.integration import stress
from tests.integration import stress_base

CLIENTS = 4
SERVERS = int(os.environ.get('CELL0_REBUILD_SOAK', '20'))
# How long a service lives, in seconds.
LIFE = min(30, stress_base.SECONDS // 3)

# Ten servers fit on a host, or a tenth of all.
_SMALL = {'DEFAULT': {'cpu_allocation_ratio': max(1.0, SERVERS / 100)}}

# Who is refused rests for a short time, so that all are asked for again.
_PACE = {'backoff': '10s', 'backoff_max': '20s'}

# So long, in seconds, all servers may wait for the service to look at them:
# one that starts anew finds out again what each server with a port asks for.
_TOLD = 240 + SERVERS

# Why a server is left in cell0 at the end. There is no room, so that none is
# tried, and who was refused rests no longer.
_REASONS = {'capacity', 'locked', 'expired'}

# How long servers wait: the time of some is over before the end.
_WISHES = [{'cell0_rebuild_wait': wish} for wish in (
    *['1d'] * 8, '20s', f'{stress_base.SECONDS}s')]

CLOUD = None


def setUpModule():
    global CLOUD
    CLOUD = stress_base.shared_cloud(_SMALL)


class SoakTest(stress_base.StressTestCase):

    def setUp(self):
        super().setUp()
        self.services = [
            self.cloud.start_waiting_service(**_PACE) for _ in range(2)]

    def test_at_the_end_each_is_there_once_and_waits_for_a_true_reason(self):
        crowd = stress.Crowd(
            self.cloud, stress_base.SEED, _WISHES)
        chance = random.Random(stress_base.SEED)
        self.cloud.close_hosts()
        for _ in range(SERVERS):
            crowd.add(self.cloud.api, chance).raise_for_status()
        kills = self.run_and_kill(crowd, chance)
        self.cloud.close_hosts_for_good()
        self.assertGreater(kills, 1)
        try:
            self.assert_right(crowd)
            self.assertGreater(
                len(self.came_back(crowd)), 0, self.story(crowd))
            # A host that was at work may have opened itself again.
            self.cloud.close_hosts_for_good()
            self.assert_reasons()
        finally:
            self.note(crowd, kills)

    def run_and_kill(self, crowd, chance):
        """Kill a service and change the quota while clients act.

        :returns: how many services were killed.
        """
        kills = 0
        with concurrent.futures.ThreadPoolExecutor(1) as pool:
            acting = pool.submit(crowd.run, CLIENTS, stress_base.SECONDS)
            while not concurrent.futures.wait([acting], LIFE).done:
                service = self.services[kills % len(self.services)]
                service.kill()
                kills += 1
                self.limit(chance.choice((-1, SERVERS // 2)))
                service.start()
            acting.result()
        self.limit(-1)
        return kills

    def limit(self, instances):
        """Change how many servers the project may have."""
        self.cloud.api.ask('PUT', '/os-quota-sets/project', {'quota_set': {
            'instances': instances, 'force': True}}).raise_for_status()

    def shown(self):
        """Return all servers that there are."""
        return self.cloud.api.get('/servers/detail')['servers']

    def came_back(self, crowd):
        """Return the servers that are ACTIVE and that no client rebuilt."""
        return [one for one in self.shown() if one['status'] == 'ACTIVE'
                and not crowd.servers[one['id']].rebuilds]

    def assert_reasons(self):
        """Check that each in cell0 waits, and its owner reads what is so."""
        for service in self.services:
            self.assertFalse(service.ended, service.output[-2000:])
        # A service looks at each once a minute, and tells some of them.
        found = {}

        def agree():
            found.clear()
            found.update(self.differing())
            return not found
        with contextlib.suppress(processes.ProcessError):
            processes.poll(agree, 'that all were told', _TOLD)
        self.assertEqual({}, found)

    def differing(self):
        """Return of servers why they wait, and what is told, if it differs.

        Those are returned too that have no reason to be left in cell0.
        """
        listed = self.listed()
        self.assertEqual([], [server for server, count in collections.Counter(
            one['server'] for one in listed).items() if count > 1])
        reasons = {one['server']: one['reason'] for one in listed}
        found = {server: (reasons.get(server), self.told(server))
                 for server in self.in_cell0() | set(reasons)}
        return {server: (reason, told) for server, (reason, told)
                in found.items() if told != [reason] or reason not in _REASONS}

    def in_cell0(self):
        """Return the servers that are in cell0.

        A server that failed on its host is shown without one, too. It is in
        its cell, and keeps the last reason for which it waited.
        """
        with (self.cloud.connect() as connection,
              connection.cursor() as cursor):
            cursor.execute(
                'SELECT uuid FROM cell0.instances WHERE deleted = 0')
            return {uuid for uuid, in cursor.fetchall()}

    def listed(self):
        """Return what is shown of the servers that wait."""
        command = self.cloud.start_command(
            'manage', 'wait', 'list', '--format', 'json',
            changes=[{'cell0_rebuild_wait': _PACE}])
        # A server with a port is asked for by itself.
        code, text = command.code(_TOLD), command.output
        self.assertEqual(0, code, text)
        # What is logged stands around it.
        found, _ = json.JSONDecoder().raw_decode(
            text, re.search(r'(?m)^\[', text).start())
        return found

    def told(self, server):
        """Return the codes that the owner of a server reads."""
        return [action['message'].partition(':')[0]
                for action in self.cloud.api.get(
                    f'/servers/{server}/os-instance-actions'
                )['instanceActions'] if action['action'] == 'wait']

    def note(self, crowd, kills):
        """Write down what has become of the servers."""
        reasons = collections.Counter(one['reason'] for one in self.listed())
        shown = collections.Counter(one['status'] for one in self.shown())
        (cloud.FOLDER / 'log' / 'soak.log').write_text(
            f'{self.story(crowd)}\n{kills} services killed, '
            f'{dict(shown)} shown, '
            f'{len(self.came_back(crowd))} came back by themselves, '
            f'{sum(bool(one.deleted) for one in crowd.servers.values())} '
            f'deleted, in cell0 {dict(reasons)}\n')
