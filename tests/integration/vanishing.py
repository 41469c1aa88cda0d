# SPDX-License-Identifier: Apache-2.0

"""A conductor that says that it is there, and then is not."""

import fixtures
from oslo_config import cfg
import oslo_messaging as messaging

from tests.integration import cloud


class _Endpoint:

    target = messaging.Target(namespace=cloud.TOPIC, version='1.0')

    def __init__(self, broker):
        self._broker = broker

    def ping(self, context):
        """Answer, but have the queue of all conductors go before that.

        So it is when the broker is restarted just then, whose queues go
        with it and come back with the conductors.
        """
        self._broker.delete_queue(cloud.TOPIC)
        return True


class Conductor(fixtures.Fixture):
    """An RPC server in the place of nova-conductor's.

    No real conductor can be stopped between two messages of a request.
    """

    def __init__(self, broker):
        super().__init__()
        self._broker = broker

    def _setUp(self):
        cfg.CONF([])
        self.addCleanup(cfg.CONF.reset)
        # It comes back only when nova-api has sent the next message.
        transport = messaging.get_rpc_transport(
            cfg.CONF, f'{self._broker.url}?kombu_reconnect_delay=4')
        self.addCleanup(transport.cleanup)
        server = messaging.get_rpc_server(
            transport, messaging.Target(
                exchange='nova', topic=cloud.TOPIC, server='vanishing'),
            [_Endpoint(self._broker)], executor='threading')
        server.start()
        self.addCleanup(server.wait)
        self.addCleanup(server.stop)
