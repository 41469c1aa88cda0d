# SPDX-License-Identifier: Apache-2.0

"""Requests to Nova that are shown on the screen, with their answers."""

import json

from nova.api.openstack import api_version_request

from tests.integration import processes
from tools.demo import screen as screens


class Dialogue:
    """What is asked and answered about a server.

    :ivar stock: the highest microversion of Nova itself.
    :ivar id: of the server, once it is created.
    """

    def __init__(self, screen, nova):
        self.screen, self.nova, self.id = screen, nova, None
        self.step, self.claim = screen.step, screen.claim
        self.stock = api_version_request.max_api_version().get_string()

    def ask(self, method, path, body=None, *, expect=200, version=None,
            operator=False):
        """Send a request, show it and return the body of its answer.

        :param expect: the status code that its answer must have.
        :param version: the microversion; the highest of Nova's by default.
        :param operator: whether it is sent with the rights of one.
        :raises ClaimFailed: if the answer has another status code.
        """
        version = version or self.stock
        self.screen.asked(method, path, version, body,
                          'operator' if operator else 'user')
        return self._send(method, path, body, expect, version, operator)

    def create(self, **wanted):
        """Ask for a server and return its ID."""
        server = self.ask(
            'POST', '/servers', {'server': wanted}, expect=202)['server']
        self.screen.answered(202, id=server['id'])
        return server['id']

    def look(self, rest=''):
        """Return the server, or something of it, without showing it."""
        answer = self._send(
            'GET', self.path(rest), None, 200, self.stock, False)
        return answer if rest else answer['server']

    def poll(self):
        """Wait until the server is built or has failed, and return it."""
        self.screen.asked('GET', self.path(), f'{self.stock}, polled')

        def settled():
            server = self.look()
            # Nova stores the fault after the status.
            return ('fault' in server or server['status'] == 'ACTIVE'
                    ) and server

        return processes.poll(settled, 'the end of the build')

    def actions(self):
        """Show the history of the server, and return it, the oldest first."""
        actions = self.ask(
            'GET', self.path('/os-instance-actions'))['instanceActions']
        self.screen.answered(200, actions=', '.join(
            action['action'] for action in actions))
        return actions[::-1]

    def path(self, rest=''):
        """Return the path of the server, or of something of it."""
        return f'/servers/{self.id}{rest}'

    def _send(self, method, path, body, expect, version, operator):
        client = self.nova.admin_api if operator else self.nova.api
        client.microversion = version
        answer = client.api_request(
            path.lstrip('/'), method=method,
            body=None if body is None else json.dumps(body))
        if answer.status_code != expect:
            raise screens.ClaimFailed(
                f'{method} {path} was answered {answer.status_code} and not '
                f'{expect}: {answer.text}')
        return answer.json() if answer.content else None
