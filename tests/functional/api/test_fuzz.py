# SPDX-License-Identifier: Apache-2.0

"""Rebuild requests with any body: no 5xx, no trace, no server lost."""

import collections
import copy
import json
import os
import re
import sys
import time

import hypothesis
from nova.api.openstack.compute.schemas import servers as schemas

from tests.functional.api import bodies
from tests.functional import base
from tests.functional.support import databases

# For each microversion; "make fuzz" asks for more.
COUNT = int(os.environ.get('CELL0_REBUILD_FUZZ', '100'))

SHOWN = ('BUILD', 'ERROR', 'ACTIVE')

# That of the highest microversion that has one of its own.
SCHEMA = max(
    (int(found[1]), schema) for name, schema in vars(schemas).items()
    if (found := re.fullmatch(r'rebuild_v(\d+)', name)))[1]


class FuzzTestCase(base.FunctionalTestCase):
    """Servers that no host is large enough for: each stays buried."""

    TIMEOUT_SCALING_FACTOR = 1 + COUNT // 100

    def setUp(self):
        super().setUp()
        self.flags(ram=-1, group='quota')
        with self.microversion_is('2.92'):
            self.api.post_keypair({'keypair': {
                'name': 'key', 'type': 'ssh', 'public_key': base.PUBLIC_KEY}})
        large = self._create_flavor(id='large', memory_mb=10 ** 8)
        self._start_compute('host1')
        self.servers = [self.bury(flavorRef=large, metadata={'a': 'b'})
                        for _ in range(4)]
        self.launched = self._create_server(networks='none')
        self.codes = collections.Counter()
        self.problems = []
        self.known_in_nova = []

    def schema(self):
        """Return the schema of the bodies that are valid."""
        return SCHEMA

    def fuzz(self, microversion):
        """Send bodies, one after the other."""
        self.dump = databases.dump()
        found = bodies.bodies(self.schema(), {
            'imageRef': (self.servers[0]['image']['id'],
                         self.glance.auto_disk_config_enabled_image['id'],
                         bodies.random_id()),
            'key_name': ('key', None)})

        @hypothesis.settings(
            max_examples=COUNT, derandomize=True, database=None,
            deadline=None, phases=[hypothesis.Phase.generate],
            suppress_health_check=list(hypothesis.HealthCheck))
        @hypothesis.given(found)
        def send(body):
            self._send(microversion, body)
        send()
        if 'CELL0_REBUILD_FUZZ' in os.environ:
            self._tell(microversion)

    def _tell(self, microversion):
        print(f'{microversion}: {sum(self.codes.values())} bodies, '
              f'{dict(sorted(self.codes.items()))}, 5xx of Nova itself: '
              f'{self.known_in_nova}', file=sys.stderr)

    def _send(self, microversion, body):
        server = self.servers[sum(self.codes.values()) % len(self.servers)]
        code = self.ask(microversion, server, body)
        self.codes[code] += 1
        if code == 202:
            self.settled(server)
        elif code >= 500 and self.ask(
                base.STOCK, self.launched, self.named(body)) >= 500:
            self.known_in_nova.append(json.dumps(body))
            self._wait_for_state_change(self.launched, 'ACTIVE')
        elif code >= 500:
            self.problems.append((code, json.dumps(body)))
        else:
            changed = databases.differences(self.dump, databases.dump())
            if changed:
                self.problems.append((code, json.dumps(body), changed))
        if code == 202 or code >= 500:
            self.dump = databases.dump()

    def named(self, body):
        """Return the body as a stock microversion wants it."""
        body = copy.deepcopy(body)
        if isinstance(body.get('rebuild'), dict):
            body['rebuild'].setdefault(
                'imageRef', self.servers[0]['image']['id'])
        return body

    def ask(self, microversion, server, body):
        """Send a body and return the code of the answer."""
        with self.microversion_is(microversion):
            return self.api.api_request(
                f'servers/{server["id"]}/action', method='POST',
                body=json.dumps(body)).status_code

    def settled(self, server):
        """Wait until the server is buried again."""
        for _ in range(1000):
            if (databases.cell_of(server['id']) == 'cell0'
                    and databases.hidden(server['id']) == [False]):
                return
            time.sleep(0.01)
        self.problems.append(('lost', server['id']))

    def assert_nothing_happened(self):
        """Check what the run has found, and that it was a run at all."""
        self.assertEqual([], self.problems)
        self.assertEqual(COUNT, sum(self.codes.values()))
        self.assertTrue(self.codes[202] and self.codes[400], self.codes)
        shown = collections.Counter(
            server['id'] for server in self.api.get_servers())
        for server in self.servers:
            self.assertEqual(1, shown[server['id']])
            self.assertIn(self.api.get_server(server['id'])['status'], SHOWN)


class AddedMicroversionTest(FuzzTestCase):

    def schema(self):
        schema = copy.deepcopy(SCHEMA)
        schema['properties']['rebuild']['required'] = []
        return schema

    def test_no_body_does_harm_in_the_added_microversion(self):
        self.fuzz(base.ADDED)
        self.assert_nothing_happened()


class StockMicroversionTest(FuzzTestCase):

    options = {'api_microversion': '2.93'}

    def test_no_body_does_harm_in_a_stock_microversion(self):
        self.fuzz(base.STOCK)
        self.assert_nothing_happened()
