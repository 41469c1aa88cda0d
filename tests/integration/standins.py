# SPDX-License-Identifier: Apache-2.0

"""What answers in place of Glance, and what all stand-ins have in common.

Nova asks Glance for the image of every server, Neutron for its ports and
Cinder for its volumes. All would need Keystone and a database each to say so
little, so this is said by stand-ins: see also :mod:`ports` and
:mod:`volumes`. Nothing else of the cloud is made up.
"""

import http.server
import json
import threading

import fixtures

IMAGE = '155d900f-4e14-4e4c-a73d-069cbf4541e6'
OTHER_IMAGE = '70a599e0-31e7-49b7-b260-868f441e862b'

_IMAGE = {
    'id': IMAGE, 'name': 'image', 'status': 'active', 'visibility': 'public',
    'container_format': 'bare', 'disk_format': 'raw', 'size': 1,
    'min_disk': 0, 'min_ram': 0, 'protected': False, 'tags': [],
    'owner': 'project', 'checksum': None,
    'created_at': '2026-01-01T00:00:00Z',
    'updated_at': '2026-01-01T00:00:00Z',
    'self': f'/v2/images/{IMAGE}', 'file': f'/v2/images/{IMAGE}/file',
    'schema': '/v2/schemas/image',
}

_OTHER_IMAGE = {
    **_IMAGE, 'id': OTHER_IMAGE, 'self': f'/v2/images/{OTHER_IMAGE}',
    'file': f'/v2/images/{OTHER_IMAGE}/file'}

# The schema tells Nova which of the above are no custom properties.
_GLANCE = {
    _IMAGE['self']: _IMAGE,
    _OTHER_IMAGE['self']: _OTHER_IMAGE,
    _IMAGE['schema']: {
        'name': 'image',
        'properties': {name: {'is_base': True} for name in _IMAGE}},
}


class _Handler(http.server.BaseHTTPRequestHandler):

    protocol_version = 'HTTP/1.1'

    def do_GET(self):
        self.respond(self.answer(self.path.partition('?')[0]))

    def respond(self, found):
        """Send an answer, None if there is none."""
        body = json.dumps(found or {}).encode()
        self.send_response(404 if found is None else 200)
        self.send_header('Content-Type', 'application/json')
        self.send_header('Content-Length', str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format, *args):
        """Say nothing; Nova logs what it asks for."""


class _Glance(_Handler):

    def answer(self, path):
        """Describe one of the images that there are."""
        return _GLANCE.get(path)


class _Server(fixtures.Fixture):

    handler: type[_Handler]

    def _setUp(self):
        server = http.server.ThreadingHTTPServer(
            ('127.0.0.1', 0), self.handler)
        server.daemon_threads = True
        self.url = f'http://127.0.0.1:{server.server_port}'
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        self.addCleanup(thread.join)
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)


class Glance(_Server):
    """Has two images."""

    handler = _Glance
