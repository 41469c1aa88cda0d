# SPDX-License-Identifier: Apache-2.0

"""The story of a server that waits for room, and comes back by itself."""

from cell0_rebuild.wait import factory
from cell0_rebuild.wait import service
from tests.functional.wait import keystone
from tests.integration import processes
from tools.demo import dialogue
from tools.demo import story

# The host has memory for one such server, not for two.
SERVER = {'flavorRef': '3', 'networks': 'none', 'imageRef': story.IMAGE}


class Story(dialogue.Dialogue):
    """Tells the story on a deployment that has one host."""

    def tell(self):
        """Tell all of it.

        :raises ClaimFailed: if something is not as it is told.
        """
        self._keystone = self.nova.useFixture(
            keystone.KeystoneFixture(self.nova.api_fixture))
        self.nova.flags(show='build', group=keystone.GROUP)
        blocking = self._fill()
        waiting = service.WaitingService(factory.sweeper)
        waiting.start()
        try:
            self._wait()
            self._come_back(blocking)
        finally:
            waiting.stop()
        self.claim('its history tells of it', ['create', 'wait', 'rebuild'],
                   [action['action'] for action in self.actions()])

    def _fill(self):
        self.step('The host is full', 'Another server takes the memory that '
                  'is left.')
        self.id = self.create(name='batch', **SERVER)
        status = self.poll()['status']
        self.screen.answered(200, status=status)
        self.claim('it runs', 'ACTIVE', status)
        return self.path()

    def _wait(self):
        self.step(
            'A server that waits', 'The service cell0-rebuild-wait runs now. '
            'A user says at create that the server may wait for two hours.')
        self.id = self.create(
            name='report', **SERVER, metadata={'cell0_rebuild_wait': '2h'})
        told = processes.poll(self._told, 'that the server waited')
        status = self.look()['status']
        self.screen.answered(200, status=status, wait=told)
        self.claim('its status is BUILD, not ERROR', 'BUILD', status)
        wanted = 'No host has 4096 MEMORY_MB free'
        self.claim(f'its owner reads "{wanted}"', True, wanted in told)
        self.claim('no rebuild was asked for in vain', [], self._rebuilt())

    def _come_back(self, blocking):
        self.step('It comes back by itself', 'The other server is deleted. '
                  'Nobody asks for anything else.')
        self.ask('DELETE', blocking, expect=204)
        server = processes.poll(self._settled, 'that the server came back')
        self.screen.answered(200, id=server['id'], status=server['status'])
        self.claim('its status is ACTIVE', 'ACTIVE', server['status'])
        self.claim('it is the same server', self.id, server['id'])
        self.claim('one rebuild was asked for', [self.id], self._rebuilt())

    def _rebuilt(self):
        """Return the servers whose rebuild the service has asked for."""
        return [path.split('/')[3] for _, path, _ in self._keystone.requests]

    def _told(self):
        return next((
            action['message'] for action in self.look(
                '/os-instance-actions')['instanceActions']
            if action['action'] == 'wait'), None)

    def _settled(self):
        server = self.look()
        return server['status'] != 'BUILD' and server
