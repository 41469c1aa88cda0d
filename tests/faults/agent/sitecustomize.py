# SPDX-License-Identifier: Apache-2.0

"""Records the boundaries of a real service, or kills it at one of them.

Python imports it in every process that has this folder in ``PYTHONPATH``, and
it does nothing without a folder for orders in the environment. There the test
says, for the next rebuild, or create, what is to happen::

    record    each boundary is appended to the file "crossed"
    kill      at one boundary the process is killed, by SIGKILL; before that
              it takes the order away and says in the file "struck" who it was

Without an order the service is as it always is.
"""

import contextlib
import dataclasses
import json
import os
import pathlib
import signal
import urllib.parse

import wrapt

import crossings

FOLDER = os.environ.get('CELL0_REBUILD_FAULTS_ORDERS')
_NAMESPACE = 'cell0_rebuild'
_CREATE = 'schedule_and_build_instances'


class _Order:
    """What the test wants, as the fault of a process."""

    def __init__(self, folder):
        self._folder = pathlib.Path(folder)
        self._wanted = json.loads((self._folder / 'order').read_text())

    def __call__(self, process, boundary, when):
        found = [dataclasses.asdict(boundary), when]
        if self._wanted == 'record':
            with (self._folder / 'crossed').open('a') as crossed:
                crossed.write(json.dumps(found) + '\n')
        elif self._wanted == found:
            # A message that comes again must not kill the next process.
            (self._folder / 'order').unlink()
            (self._folder / 'struck').write_text(str(os.getpid()))
            os.kill(os.getpid(), signal.SIGKILL)


def _acting(name):
    """Let this thread act as a process that has an order, if there is one."""
    try:
        order = _Order(FOLDER)
    except FileNotFoundError:
        return contextlib.nullcontext()
    return crossings.Process(name, order).working()


def _serve(original):
    """Begin at each action that is requested."""
    def served(environ, start_response):
        if not environ['PATH_INFO'].endswith('/action'):
            return original(environ, start_response)
        with _acting(crossings.API):
            return original(environ, start_response)
    return served


def _receive(original):
    """Acknowledge a message under the eyes of the test."""
    def received(listener, message):
        if message.get('namespace') != _NAMESPACE:
            return original(listener, message)
        with _acting(crossings.CONDUCTOR):
            return crossings.cross('acknowledge', message['method'],
                                   original, listener, message)
    return received


def _process(original):
    """Begin at each message that is for the package, and at each create."""
    def processed(server, incoming):
        message = incoming[0].message
        if message['method'] != _CREATE and (
                message.get('namespace') != _NAMESPACE):
            return original(server, incoming)
        with _acting(crossings.CONDUCTOR):
            return original(server, incoming)
    return processed


def _reply(original):
    def replied(incoming, *args, **kwargs):
        return crossings.cross('reply', incoming.message['method'], original,
                               incoming, *args, **kwargs)
    return replied


def _request(original):
    def requested(session, url, method, *args, **kwargs):
        path = urllib.parse.urlsplit(url).path
        kind = kwargs.get('endpoint_filter', {}).get('service_type', 'request')
        return crossings.cross(kind, crossings.request(method, path),
                               original, session, url, method, *args, **kwargs)
    return requested


def _database(connection):
    return connection.engine.url.database


def _patch(module, path, make):
    """Have something replaced as soon as it is imported."""
    def patch(loaded):
        owner, _, name = path.rpartition('.')
        owner = getattr(loaded, owner) if owner else loaded
        setattr(owner, name, make(getattr(owner, name)))
    wrapt.register_post_import_hook(patch, module)


if FOLDER:
    _patch('nova.wsgi.osapi_compute', 'application', _serve)
    _patch('oslo_messaging.rpc.server', 'RPCServer._process_incoming',
           _process)
    _patch('oslo_messaging._drivers.amqpdriver', 'RpcAMQPListener.__call__',
           _receive)
    _patch('oslo_messaging._drivers.amqpdriver', 'AMQPIncomingMessage.reply',
           _reply)
    _patch('oslo_messaging.transport', 'RPCTransport._send',
           crossings.sending)
    _patch('futurist', 'ThreadPoolExecutor.submit', crossings.submitting)
    _patch('cell0_rebuild.rpcapi', '_within', crossings.calling)
    _patch('keystoneauth1.session', 'Session.request', _request)
    _patch('sqlalchemy.engine.base', 'Connection._commit_impl',
           crossings.transacting('commit', _database))
