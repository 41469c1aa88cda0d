# SPDX-License-Identifier: Apache-2.0

"""Talk to nova-api, and to Placement, as clients do."""

import requests

from tests import releases


class Client:
    """Asks nova-api as an administrator of one project."""

    def __init__(self, url, highest=releases.STOCK):
        """:param highest: microversion of Nova's own."""
        self.url = url
        self.stock = highest
        # The one that the package adds.
        self.added = releases.next_to(highest)
        self._session = requests.Session()
        self._session.trust_env = False
        # What Keystone's middleware would put there.
        self._session.headers.update({
            'X-Auth-Token': 'token', 'X-User-Id': 'user',
            'X-Project-Id': 'project', 'X-Roles': 'admin,member,reader'})

    def ask(self, method, path, body=None, microversion=None):
        """Return the answer to a request, whatever it is."""
        return self._session.request(
            method, f'{self.url}/v2.1{path}', json=body, timeout=180, headers={
                'OpenStack-API-Version':
                    f'compute {microversion or self.stock}'})

    def get(self, path):
        """Return what is there."""
        return self._do('GET', path).json()

    def post(self, path, body):
        """Make something and return it."""
        return self._do('POST', path, body).json()

    def delete(self, path):
        """Delete something."""
        self._do('DELETE', path)

    def server(self, server_id):
        """Return a server as its owner sees it."""
        return self.get(f'/servers/{server_id}')['server']

    def rebuild(self, server_id, microversion=None, **changes):
        """Return the answer to a rebuild request, whatever it is."""
        return self.ask('POST', f'/servers/{server_id}/action',
                        {'rebuild': changes}, microversion or self.added)

    def _do(self, method, path, body=None):
        answer = self.ask(method, path, body)
        if not answer.ok:
            raise AssertionError(f'{method} {path}: {answer.status_code} '
                                 f'{answer.text}')
        return answer


def allocations(url, consumer):
    """Return what Placement has for a server: resources by provider."""
    session = requests.Session()
    session.trust_env = False
    answer = session.get(f'{url}/allocations/{consumer}', timeout=60,
                         headers={'X-Auth-Token': 'admin'})
    answer.raise_for_status()
    return {provider: found['resources']
            for provider, found in answer.json()['allocations'].items()}
