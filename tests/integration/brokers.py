# SPDX-License-Identifier: Apache-2.0

"""A private RabbitMQ."""

import contextlib
import pathlib
import shutil

import amqp
import fixtures
import kombu

from tests.integration import processes

# The script of the package itself: the one on the PATH changes to the user
# of the distribution's broker.
SCRIPT = pathlib.Path('/usr/lib/rabbitmq/bin/rabbitmq-server')


def prepare(folder):
    """Make the folder that a broker keeps all its files in."""
    folder.mkdir()
    (folder / 'plugins').write_text('[].\n')
    (folder / 'environment').touch()


def epmd_command(port):
    """Return the command line of the name server of a broker.

    Without one RabbitMQ starts a daemon that outlives it.
    """
    return 'epmd', '-port', port, '-address', '127.0.0.1'


def environment(folder, port, distribution, names):
    """Return what tells a broker where everything is.

    :param folder: has gone through :func:`prepare`.
    :param port: that it listens on.
    :param distribution: a port that it needs for itself.
    :param names: the port of its name server.
    """
    return {
        'ERL_EPMD_PORT': names,
        'ERL_EPMD_ADDRESS': '127.0.0.1',
        'RABBITMQ_NODENAME': f'cell0-rebuild-{port}@localhost',
        'RABBITMQ_NODE_IP_ADDRESS': '127.0.0.1',
        'RABBITMQ_NODE_PORT': port,
        'RABBITMQ_DIST_PORT': distribution,
        'RABBITMQ_CONF_ENV_FILE': folder / 'environment',
        'RABBITMQ_CONFIG_FILE': folder / 'rabbitmq',
        'RABBITMQ_ADVANCED_CONFIG_FILE': folder / 'advanced',
        'RABBITMQ_ENABLED_PLUGINS_FILE': folder / 'plugins',
        'RABBITMQ_MNESIA_BASE': folder / 'mnesia',
        'RABBITMQ_LOG_BASE': folder / 'log',
        'RABBITMQ_LOGS': '-',
        # Without this the script stays as the parent of the broker and
        # would not take it along when it is killed.
        'RABBITMQ_ALLOW_INPUT': 'true',
        'RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS':
            '-noinput +S 1:1 -kernel inet_dist_use_interface {127,0,0,1}',
    }


def has_consumer(url, queue):
    """Tell whether somebody takes messages from a queue.

    :param url: of the broker, its virtual host included.
    """
    with kombu.Connection(url.replace('rabbit:', 'amqp:', 1),
                          connect_timeout=5) as connection:
        try:
            return connection.default_channel.queue_declare(
                queue, passive=True).consumer_count > 0
        except amqp.NotFound:
            return False


class RabbitMQ(fixtures.Fixture):
    """A RabbitMQ server, with its own epmd, on free ports of the loopback."""

    def __init__(self, programs, folder):
        """:param programs: the :class:`processes.Processes` to start it."""
        super().__init__()
        self._programs = programs
        self._folder = pathlib.Path(folder) / 'rabbitmq'

    def _setUp(self):
        self.port, distribution, names = processes.free_ports(3)
        prepare(self._folder)
        self.addCleanup(shutil.rmtree, self._folder, ignore_errors=True)
        epmd = self._programs.start('epmd', *epmd_command(names))
        self.addCleanup(epmd.kill)
        epmd.wait_for_port(names)
        self._server = self._programs.start('rabbitmq', SCRIPT, **environment(
            self._folder, self.port, distribution, names))
        self.addCleanup(self._server.kill)

    def stop(self):
        """Stop it at once; its queues go with it."""
        self._server.kill()

    def start_again(self):
        """Start it again, where it was, and wait for it."""
        self._server.start()
        self.wait()

    @property
    def url(self):
        """The URL of the broker for oslo.messaging."""
        return f'rabbit://guest:guest@127.0.0.1:{self.port}/'

    def wait(self):
        """Wait until it accepts connections."""
        self._server.wait_for_port(self.port)

    def delete_queue(self, name):
        """Delete a queue, whether or not it exists."""
        with self._connect() as connection:
            connection.default_channel.queue_delete(name)

    @contextlib.contextmanager
    def tapped(self, exchange, topic):
        """Copy what is sent to a topic; yield a function that counts it."""
        with self._connect() as connection:
            channel = connection.default_channel
            copies = channel.queue_declare(exclusive=True).queue
            channel.queue_bind(copies, exchange, topic)
            yield lambda: channel.queue_declare(
                copies, passive=True).message_count

    def has_consumer(self, queue):
        """Tell whether somebody takes messages from a queue."""
        return has_consumer(self.url, queue)

    def _connect(self):
        return kombu.Connection(
            hostname='127.0.0.1', port=self.port, userid='guest',
            password='guest', connect_timeout=5)
