# SPDX-License-Identifier: Apache-2.0

"""What answers in place of Keystone, for a service that needs tokens.

The nova-api of the cloud has no filter of Keystone's. So the catalog names
the stand-in, which puts into the headers what the filter would.
"""

import json

import requests

from tests.integration import standins


class _Keystone(standins._Handler):

    nova: str

    def answer(self, path):
        """Describe the API."""
        return {'version': {'id': 'v3.14', 'status': 'stable', 'links': [
            {'rel': 'self', 'href': f'{self._url()}/v3'}]}}

    def do_POST(self):
        body = self.rfile.read(int(self.headers['Content-Length']))
        if self.path == '/v3/auth/tokens':
            self._give_token(json.loads(body)['auth'])
        else:
            self._pass_on(body)

    def _give_token(self, auth):
        project = auth['scope']['project']['id']
        token = {
            'methods': ['password'], 'roles': [{'id': 'm', 'name': 'member'}],
            'user': {'id': 'waiting', 'name': 'waiting',
                     'domain': {'id': 'default', 'name': 'Default'}},
            'project': {'id': project, 'name': project,
                        'domain': {'id': 'default', 'name': 'Default'}},
            'issued_at': '2020-01-01T00:00:00.000000Z',
            'expires_at': '2099-01-01T00:00:00.000000Z',
            'catalog': [{
                'type': 'compute', 'name': 'nova', 'id': 'nova', 'endpoints': [
                    {'interface': 'internal', 'id': 'one', 'region': 'here',
                     'region_id': 'here', 'url': f'{self._url()}/v2.1'}]}]}
        self._send(201, json.dumps({'token': token}).encode(),
                   {'X-Subject-Token': project})

    def _pass_on(self, body):
        project = self.headers['X-Auth-Token']
        answer = requests.post(
            f'{self.nova}{self.path}', data=body, timeout=180, headers={
                'Content-Type': 'application/json', 'X-Auth-Token': 'token',
                'OpenStack-API-Version': self.headers[
                    'OpenStack-API-Version'],
                'X-User-Id': 'waiting', 'X-Project-Id': project,
                'X-Roles': 'member,reader'})
        self._send(answer.status_code, answer.content, {})

    def _send(self, code, body, headers):
        self.send_response(code)
        for name, value in {
                'Content-Type': 'application/json',
                'Content-Length': str(len(body)), **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def _url(self):
        return f'http://{self.headers["Host"]}'


class Keystone(standins._Server):
    """Gives everyone a token of any project."""

    def __init__(self, nova):
        """:param nova: the URL of nova-api."""
        super().__init__()
        self.handler = type('_Here', (_Keystone,), {'nova': nova})
