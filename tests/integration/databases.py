# SPDX-License-Identifier: Apache-2.0

"""A private MariaDB."""

import os
import pathlib
import shutil
import subprocess

import fixtures
import pymysql

from tests.integration import processes

# The data lives as long as the test: nothing need survive a power cut.
_FAST = ('--innodb-flush-method=nosync', '--innodb-doublewrite=0',
         '--innodb-flush-log-at-trx-commit=0', '--innodb-log-file-size=32M',
         '--innodb-buffer-pool-size=128M', '--skip-log-bin',
         '--skip-name-resolve')


def install_command(data):
    """Return the command line that makes an empty data folder."""
    return ['mariadb-install-db', *_where(data),
            '--auth-root-authentication-method=normal', '--skip-test-db',
            *_FAST]


def server_command(data, port):
    """Return the command line of a server with a data folder."""
    return ['mariadbd', *_where(data), *_FAST, '--bind-address=127.0.0.1',
            f'--port={port}', '--socket=socket', '--pid-file=pid',
            '--max-connections=500']


def _where(data):
    # A server that starts deletes whatever temporary tables it finds there.
    scratch = pathlib.Path(f'{data}-tmp')
    scratch.mkdir(parents=True, exist_ok=True)
    # As root it would change to the user of the distribution's server.
    return ['--no-defaults', f'--datadir={data}', f'--tmpdir={scratch}',
            *(['--user=root'] if os.geteuid() == 0 else [])]


class MariaDB(fixtures.Fixture):
    """A MariaDB server on a free port of the loopback."""

    def __init__(self, programs, folder):
        """:param programs: the :class:`processes.Processes` to start it."""
        super().__init__()
        self._programs = programs
        self._data = pathlib.Path(folder) / 'mariadb'

    def _setUp(self):
        [self.port] = processes.free_ports(1)
        self.addCleanup(shutil.rmtree, self._data, ignore_errors=True)
        self._programs.start(
            'mariadb-install-db', *install_command(self._data)).finish()
        server = self._programs.start(
            'mariadb', *server_command(self._data, self.port))
        self.addCleanup(server.kill)
        server.wait_for_port(self.port)

    def url(self, name):
        """Return the URL of a database for SQLAlchemy."""
        return (f'mysql+pymysql://root@127.0.0.1:{self.port}/{name}'
                f'?charset=utf8mb4')

    def connect(self):
        """Return a connection that sees what is committed."""
        return pymysql.connect(
            host='127.0.0.1', port=self.port, user='root', autocommit=True,
            charset='utf8mb4')

    def create(self, *names):
        """Create databases."""
        with self.connect() as connection, connection.cursor() as cursor:
            for name in names:
                cursor.execute(f'CREATE DATABASE `{name}` '
                               f'CHARACTER SET utf8mb3')

    def copy(self, source, target):
        """Copy the tables of a database into another, empty one."""
        client = ('--no-defaults', '--protocol=tcp', '--host=127.0.0.1',
                  f'--port={self.port}', '--user=root')
        dump = subprocess.run(
            ['mariadb-dump', *client, source], check=True,
            capture_output=True).stdout
        subprocess.run(['mariadb', *client, target], check=True, input=dump)
