# SPDX-License-Identifier: Apache-2.0

"""Requests to Nova that are shown on the screen, with their answers."""

import json

from nova.api.openstack import api_version_request

from demonstration import screen as screens
from tests.integration import processes


class Dialogue:
    """What is asked and answered about a server."""

    def __init__(self, screen, nova):
        self._screen, self._nova = screen, nova
        self._claim = screen.claim
        # The highest microversion of Nova itself.
        self._stock = api_version_request.max_api_version().get_string()
        self._id = None

    def _ask(self, method, path, body=None, expect=200, version=None,
             who='user'):
        """Send a request, show it and return the body of its answer.

        :param expect: the status code that its answer must have.
        :param version: the microversion; the highest of Nova's by default.
        :param who: the client that sends it, see ``Deployment``.
        :raises ClaimFailed: if the answer has another status code.
        """
        version = version or self._stock
        self._screen.asked(method, f'/v2.1{path}', version, body, who)
        return self._send(method, path, body, expect, version, who)

    def _look(self, path):
        """Read something without showing it."""
        return self._send('GET', path, None, 200, self._stock, 'user')

    def _create(self, **wanted):
        """Ask for a server and return its ID."""
        server = self._ask('POST', '/servers', {'server': wanted}, 202)
        server_id = server['server']['id']
        self._screen.answered(202, id=server_id)
        return server_id

    def _poll(self, path):
        """Wait until a server is built or has failed, and return it."""
        self._screen.asked('GET', f'/v2.1{path}', f'{self._stock}, polled')

        def settled():
            server = self._look(path)['server']
            # Nova stores the fault after the status.
            is_settled = server['status'] == 'ACTIVE' or 'fault' in server
            return is_settled and server

        return processes.poll(settled, 'the end of the build')

    def _actions(self):
        """Show the history of the server, and return it, the oldest first."""
        actions = self._ask(
            'GET', self._path('/os-instance-actions'))['instanceActions']
        self._screen.answered(200, actions=', '.join(
            action['action'] for action in actions))
        return actions[::-1]

    def _path(self, rest=''):
        return f'/servers/{self._id}{rest}'

    def _server(self):
        return self._look(self._path())['server']

    def _send(self, method, path, body, expect, version, who):
        client = getattr(self._nova, who)
        client.microversion = version
        answer = client.api_request(
            path.lstrip('/'), method=method,
            body=None if body is None else json.dumps(body))
        if answer.status_code != expect:
            raise screens.ClaimFailed(
                f'{method} {path} was answered {answer.status_code} and not '
                f'{expect}: {answer.text}')
        return answer.json() if answer.content else None
