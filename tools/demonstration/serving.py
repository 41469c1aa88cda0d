# SPDX-License-Identifier: Apache-2.0

"""Nova's API on the loopback, for clients in other processes."""

import contextlib
import signal
import socketserver
import threading
from wsgiref import simple_server

PROJECT = 'project'


class _Server(socketserver.ThreadingMixIn, simple_server.WSGIServer):

    daemon_threads = True


class _Handler(simple_server.WSGIRequestHandler):

    def log_message(self, format, *args):
        """Say nothing; Nova logs requests itself."""


def authenticated(application):
    """Return an application whose clients are whom their token names.

    "admin" is an operator, any other token, or none, an ordinary user. In a
    real Nova this is Keystone's part.
    """
    def call(environ, start_response):
        is_admin = environ.get('HTTP_X_AUTH_TOKEN') == 'admin'
        environ.update(
            HTTP_X_AUTH_USER='admin' if is_admin else 'user',
            HTTP_X_AUTH_PROJECT_ID=PROJECT,
            HTTP_X_ROLES='reader,member' + (',admin' if is_admin else ''))
        return application(environ, start_response)

    return call


@contextlib.contextmanager
def served(application, port=0):
    """Serve an application as long as the context lasts.

    :param port: of the loopback; any that is free by default.
    :returns: its URL.
    """
    with simple_server.make_server(
            '127.0.0.1', port, authenticated(application), _Server,
            _Handler) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield f'http://127.0.0.1:{server.server_port}'
        finally:
            server.shutdown()


def wait_for_interrupt():
    """Return when somebody wants this process to end."""
    asked = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda number, frame: asked.set())
    asked.wait()


def examples(url, version, image):
    """Return requests that show a rebuild of a buried server.

    :param version: the microversion that the package adds.
    :param image: the ID of one that there is.
    """
    def curl(path, body=None, method=None, admin=False):
        return ' '.join([
            'curl -s', *(['-X', method] if method else []),
            *(["-H 'X-Auth-Token: admin'"] if admin else []),
            f"-H 'OpenStack-API-Version: compute {version}'",
            *(["-H 'Content-Type: application/json'", f"-d '{body}'"]
              if body else []), f"'{url}/v2.1{path}'"])

    return [
        curl('/os-services?binary=nova-compute', admin=True),
        curl('/os-services/SERVICE', '{"status": "disabled"}', 'PUT', True),
        curl('/servers', '{"server": {"name": "buried", "flavorRef": "1", '
             f'"imageRef": "{image}", "networks": "none"}}}}'),
        curl('/os-services/SERVICE', '{"status": "enabled"}', 'PUT', True),
        curl('/servers/SERVER/action', '{"rebuild": {}}'),
        curl('/servers/SERVER'),
    ]
