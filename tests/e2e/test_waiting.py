# SPDX-License-Identifier: Apache-2.0

"""Servers that come back by themselves: doc/source/user/waiting.rst."""

import concurrent.futures
import json

from tests.e2e import base
from tests.integration import processes
from tools.cloud import contents

_WISH = ('--property', 'cell0_rebuild_wait=2h')

# More than half of a host.
_RAM = 60000

_SHORT = 3


class _TestCase(base.CloudTestCase):

    def setUp(self):
        super().setUp()
        self.flavor = self.unique('flavor')
        self.operate('flavor', 'create', '--ram', _RAM, '--disk', 1,
                     '--vcpus', 1, self.flavor)
        self.addCleanup(self.operate, 'flavor', 'delete', self.flavor)

    def operate(self, *command):
        """Run a command of the operator."""
        return self.cloud.run(*command, account='admin')

    def create(self, *wanted, scope=()):
        """Create a server that fills a host, and return its ID."""
        server = self.cloud.ask(
            *scope, 'server', 'create', '--flavor', self.flavor, '--image',
            contents.IMAGE, '--network', contents.NETWORK, *wanted,
            self.unique('server'))['id']
        self.addCleanup(self.make_go, server)
        return server

    def make_go(self, server):
        """Delete a server of any project, if it is still there."""
        compute = self.cloud.operator.compute
        compute.delete_server(server)
        processes.poll(
            lambda: compute.find_server(server, all_projects=True) is None,
            f'that {server} was deleted')

    def told(self, server, scope=()):
        """Return what the owner of a server reads about its waiting."""
        return [event['Message'] for event in self.cloud.ask(
            *scope, 'server', 'event', 'list', '--long', server)
            if event['Action'] == 'wait']

    def wait_until_told(self, server, code, scope=()):
        """Wait until an owner is told why a server waits."""
        def found():
            return [message for message in self.told(server, scope)
                    if message.startswith(f'{code}: ')]

        return processes.poll(found, f'that {server} was {code}', 90)[0]

    def fill(self):
        """Have one host, and a server that fills it; return its ID."""
        self.cloud.only_hosts_in('cell1')
        server = self.create()
        self.wait_for('ACTIVE', server)
        return server

    def enter_foreign_project(self):
        """Make a project in a domain in which the service has no role.

        :returns: the options that commands of its member have.
        """
        name = self.unique('foreign')
        self.operate('domain', 'create', name)
        self.addCleanup(self.operate, 'domain', 'delete', name)
        self.addCleanup(self.operate, 'domain', 'set', '--disable', name)
        self.operate('project', 'create', '--domain', name, name)
        self.operate('role', 'add', '--user', 'demo', '--project', name,
                     '--project-domain', name, 'member')
        return ('--os-project-name', name, '--os-project-domain-name', name)

    def manage(self, *command):
        """Run the command of operators; return its code and its answer."""
        done = self.cloud.manage(
            'cell0-rebuild-wait', *command, '--format', 'json')
        return done.returncode, json.loads(done.stdout)


class WaitingTestCase(_TestCase):

    def test_nobody_types_a_thing_and_the_right_server_comes_back(self):
        running = self.fill()
        foreign = self.enter_foreign_project()
        in_foreign = self.create(*_WISH, scope=foreign)
        silent = self.create()
        first, second = self.create(*_WISH), self.create(*_WISH)
        self.wait_until_told(first, 'capacity')
        self.wait_until_told(second, 'capacity')
        self.cloud.run('server', 'delete', running)
        self.wait_for('ACTIVE', first)
        self.assertEqual(
            'blocked: The waiting service has no role in the project of the '
            'server.', self.wait_until_told(in_foreign, 'blocked', foreign))
        self.assertEqual([], self.told(silent))
        self.wait_for('ERROR', silent, second)

    def test_a_volume_that_is_still_to_be_made_is_its_owners(self):
        server = self.create(*_WISH, '--boot-from-volume', 1)
        self.wait_for('ERROR', server)
        self.cloud.only_hosts_in('cell1')
        self.wait_for('ACTIVE', server)
        [attached] = self.cloud.ask(
            'server', 'show', server)['volumes_attached']
        self.addCleanup(self.operate, 'volume', 'delete', attached['id'])
        self.addCleanup(self.make_go, server)
        volume = self.cloud.ask('volume', 'show', attached['id'])
        self.assertEqual(
            self.user.current_project_id,
            volume['os-vol-tenant-attr:tenant_id'])

    def test_an_operator_sees_who_waits_and_why(self):
        self.fill()
        server = self.create(*_WISH)
        self.wait_until_told(server, 'capacity')
        code, why = self.manage('why', server)
        self.assertEqual((_SHORT, 'capacity'), (code, why['reason']))
        self.assertIn(
            ('MEMORY_MB', _RAM),
            [(short['what'], short['amount']) for short in why['short']])
        code, rows = self.manage('wait', 'list')
        self.assertEqual(
            (0, [(1, server, 'capacity')]),
            (code, [(row['position'], row['server'], row['reason'])
                    for row in rows]))


class ShownAsBuildTestCase(_TestCase):

    def setUp(self):
        super().setUp()
        self.cloud.up(show='build')
        self.addCleanup(self.cloud.up, show='error')

    def test_a_client_that_waits_sees_it_become_active(self):
        running = self.fill()
        with concurrent.futures.ThreadPoolExecutor(1) as pool:
            created = pool.submit(self.create, *_WISH, '--wait')
            [waiting] = processes.poll(
                lambda: [server.id for server in self.user.compute.servers()
                         if server.id != running], 'that there was one')
            self.wait_until_told(waiting, 'capacity')
            self.assertEqual('BUILD', self.server(waiting).status)
            self.cloud.run('server', 'delete', running)
            self.assertEqual(waiting, created.result())
        self.assertEqual('ACTIVE', self.server(waiting).status)
