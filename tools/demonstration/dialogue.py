# SPDX-License-Identifier: Apache-2.0

"""Requests to Nova that are shown on the screen, with their answers."""

import json
import time

from demonstration import screen as screens

_TIMEOUT = 30


class Dialogue:
    """What is asked and answered."""

    def __init__(self, screen, nova, version):
        """Prepare.

        :param version: the microversion of requests that name none.
        """
        self._screen = screen
        self._nova = nova
        self._version = version

    def ask(self, method, path, body=None, expect=200, version=None,
            who='user'):
        """Send a request, show it and return the body of its answer.

        :param expect: the status code that its answer must have.
        :param who: the client that sends it, see ``Deployment``.
        :raises ClaimFailed: if the answer has another status code.
        """
        version = version or self._version
        self._screen.asked(method, f'/v2.1{path}', version, body, who)
        return self._send(method, path, body, expect, version, who)

    def look(self, path):
        """Read something without showing it."""
        return self._send('GET', path, None, 200, self._version, 'user')

    def poll(self, path):
        """Wait until a server is built or has failed, and return it.

        :raises ClaimFailed: if that takes too long.
        """
        self._screen.asked('GET', f'/v2.1{path}', f'{self._version}, polled')

        def settled():
            server = self.look(path)['server']
            # Nova stores the fault after the status.
            done = server['status'] == 'ACTIVE' or 'fault' in server
            return server if done else None

        return wait_for(settled, 'the server is still being built')

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


def wait_for(look, failure):
    """Return what a function returns as soon as that is not None.

    :param failure: what is the matter if it stays None.
    :raises ClaimFailed: if that takes too long.
    """
    end = time.monotonic() + _TIMEOUT
    while time.monotonic() < end:
        found = look()
        if found is not None:
            return found
        time.sleep(0.05)
    raise screens.ClaimFailed(f'{failure} after {_TIMEOUT} s')
