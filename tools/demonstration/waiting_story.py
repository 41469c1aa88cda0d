# SPDX-License-Identifier: Apache-2.0

"""The story of a server that waits for room, and comes back by itself."""

from cell0_rebuild.wait import factory
from cell0_rebuild.wait import service
from demonstration import deployment
from demonstration import dialogue as dialogues
from tests.functional.wait import keystone
from tests.integration import processes

# The host has memory for one such server, not for two.
SERVER = {'flavorRef': '3', 'networks': 'none',
          'imageRef': deployment.IMAGE_ID}


class Story(dialogues.Dialogue):
    """Tells the story on a deployment that has one host."""

    def tell(self):
        """Tell all of it.

        :raises ClaimFailed: if something is not as it is told.
        """
        self._keystone = self._nova.useFixture(
            keystone.KeystoneFixture(self._nova.api_fixture))
        self._nova.flags(show='build', group=keystone.GROUP)
        self._fill()
        waiting = service.WaitingService(factory.sweeper)
        waiting.start()
        try:
            self._wait()
            self._come_back()
        finally:
            waiting.stop()
        self._show_history()

    def _fill(self):
        self._screen.step(
            'The host is full', 'Another server takes the memory that is '
            'left.')
        self._blocking = self._create(name='batch', **SERVER)
        server = self._poll(f'/servers/{self._blocking}')
        self._screen.answered(200, status=server['status'])
        self._claim('it runs', 'ACTIVE', server['status'])

    def _wait(self):
        self._screen.step(
            'A server that waits', 'The service cell0-rebuild-wait runs now. '
            'A user says at create that the server may wait for two hours.')
        self._id = self._create(
            name='report', **SERVER, metadata={'cell0_rebuild_wait': '2h'})
        told = processes.poll(self._told, 'that the server waited')
        status = self._server()['status']
        self._screen.answered(200, status=status, wait=told)
        self._claim('its status is BUILD, not ERROR', 'BUILD', status)
        wanted = 'No host has 4096 MEMORY_MB free'
        self._claim(f'its owner reads "{wanted}"', True, wanted in told)
        self._claim('no rebuild was asked for in vain', [], self._asked())

    def _come_back(self):
        self._screen.step(
            'It comes back by itself', 'The other server is deleted. Nobody '
            'asks for anything else.')
        self._ask('DELETE', f'/servers/{self._blocking}', expect=204)
        server = processes.poll(self._settled, 'that the server came back')
        self._screen.answered(200, id=server['id'], status=server['status'])
        self._claim('its status is ACTIVE', 'ACTIVE', server['status'])
        self._claim('it is the same server', self._id, server['id'])
        self._claim('one rebuild was asked for', [self._id], self._asked())

    def _show_history(self):
        self._claim('its history tells of it', ['create', 'wait', 'rebuild'],
                    [action['action'] for action in self._actions()])

    def _asked(self):
        """Return the servers whose rebuild the service has asked for."""
        return [path.split('/')[3] for _, path, _ in self._keystone.requests]

    def _told(self):
        actions = self._look(
            self._path('/os-instance-actions'))['instanceActions']
        return next((action['message'] for action in actions
                     if action['action'] == 'wait'), None)

    def _settled(self):
        server = self._server()
        return server['status'] != 'BUILD' and server
