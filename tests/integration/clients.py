# SPDX-License-Identifier: Apache-2.0

"""Talk to nova-api, and to Placement, as clients do."""

import requests

from tests import releases

# Of a host whose compute service is disabled, and the version of Placement
# that knows traits.
_DISABLED, _TRAITS = 'COMPUTE_STATUS_DISABLED', 'placement 1.6'


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
    answer = _ask_placement(url, 'GET', f'/allocations/{consumer}')
    answer.raise_for_status()
    return {provider: found['resources']
            for provider, found in answer.json()['allocations'].items()}


def disable_providers(url):
    """Have Placement know of all hosts that they are disabled.

    :returns: whether it does; not if a host changes there meanwhile.
    """
    answers = []
    for provider in _ask_placement(
            url, 'GET', '/resource_providers').json()['resource_providers']:
        path = f'/resource_providers/{provider["uuid"]}/traits'
        has = _ask_placement(url, 'GET', path).json()
        answers.append(_ask_placement(url, 'PUT', path, {
            **has, 'traits': sorted({*has['traits'], _DISABLED})}))
    return all(answer.ok for answer in answers)


def _ask_placement(url, method, path, body=None):
    session = requests.Session()
    session.trust_env = False
    return session.request(
        method, f'{url}{path}', json=body, timeout=60, headers={
            'X-Auth-Token': 'admin', 'OpenStack-API-Version': _TRAITS})
