# SPDX-License-Identifier: Apache-2.0

"""The story of a server that waits for room, and comes back by itself."""

import json

from nova import context as nova_context
from oslo_config import cfg

from cell0_rebuild import cells
from cell0_rebuild.wait import notices
from cell0_rebuild.wait import options
from cell0_rebuild.wait import rebuilds
from cell0_rebuild.wait import service
from cell0_rebuild.wait import shown_status
from cell0_rebuild.wait import sweep
from demonstration import deployment
from demonstration import dialogue as dialogues

# The host has memory for one such server, not for two.
SERVER = {'flavorRef': '3', 'networks': 'none',
          'imageRef': deployment.IMAGE_ID}


class OwnersRequests:
    """Asks nova-api for rebuilds as a member of the project of a server.

    There is no Keystone here that could give a token to the service.
    """

    def __init__(self, nova, version):
        self._nova, self._version = nova, version
        self.asked = []

    def request(self, server_id, project_id, image_id):
        """Ask for the rebuild of a server."""
        self._nova.user.microversion = self._version
        answer = self._nova.user.api_request(
            f'servers/{server_id}/action', method='POST',
            body=json.dumps({'rebuild': {}}))
        self.asked.append(server_id)
        return rebuilds.Answer(
            rebuilds.Outcome.ACCEPTED if answer.status_code == 202
            else rebuilds.Outcome.BLOCKED, answer.text)


class Story(dialogues.Dialogue):
    """Tells the story on a deployment that has one host."""

    def __init__(self, screen, nova, version):
        """:param version: the microversion that rebuilds buried servers."""
        super().__init__(screen, nova)
        self._requests = OwnersRequests(nova, version)
        self._blocking = None

    def tell(self):
        """Tell all of it.

        :raises ClaimFailed: if something is not as it is told.
        """
        options.register(cfg.CONF)
        cfg.CONF.set_override('show', 'build', options.GROUP.name)
        self._fill()
        waiting = service.WaitingService(self._sweeper)
        waiting.start()
        try:
            self._wait()
            self._come_back()
        finally:
            waiting.stop()
        self._show_history()

    def _sweeper(self):
        context = nova_context.get_admin_context()
        in_cell0 = cells.in_cell0(context)
        return sweep.Sweeper(
            context, cfg.CONF, self._requests, notices.Notices(in_cell0),
            shown_status.ShownStatus(in_cell0))

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
        told = dialogues.wait_for(self._told, 'the server does not wait')
        status = self._server()['status']
        self._screen.answered(200, status=status, wait=told)
        self._claim('its status is BUILD, not ERROR', 'BUILD', status)
        wanted = 'No host has 4096 MEMORY_MB free'
        self._claim(f'its owner reads "{wanted}"', True, wanted in told)
        self._claim('no rebuild was asked for in vain', [],
                    self._requests.asked)

    def _come_back(self):
        self._screen.step(
            'It comes back by itself', 'The other server is deleted. Nobody '
            'asks for anything else.')
        self._ask('DELETE', f'/servers/{self._blocking}', expect=204)
        server = dialogues.wait_for(
            self._settled, 'the server has not come back')
        self._screen.answered(200, id=server['id'], status=server['status'])
        self._claim('its status is ACTIVE', 'ACTIVE', server['status'])
        self._claim('it is the same server', self._id, server['id'])
        self._claim('one rebuild was asked for', [self._id],
                    self._requests.asked)

    def _show_history(self):
        self._claim('its history tells of it', ['create', 'wait', 'rebuild'],
                    [action['action'] for action in self._actions()])

    def _told(self):
        actions = self._look(
            self._path('/os-instance-actions'))['instanceActions']
        return next((action['message'] for action in actions
                     if action['action'] == 'wait'), None)

    def _settled(self):
        server = self._server()
        return None if server['status'] == 'BUILD' else server
