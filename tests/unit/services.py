# SPDX-License-Identifier: Apache-2.0

"""Start services of Nova in processes of their own."""

import configparser
import dataclasses
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

import fixtures
from nova.db.api import models as api_models
from nova.db.main import models as main_models
from nova import objects
import sqlalchemy

from tests import releases

ROOT = pathlib.Path(__file__).parents[2]

ENABLED = {
    'DEFAULT': {'config_source': 'cell0_rebuild'},
    'cell0_rebuild': {'driver': 'cell0_rebuild'},
}

# Loaded by any Python program before its own code.
DECEPTION = '''
from cell0_rebuild import nova_internals
object.__setattr__(nova_internals.{name}, 'signature', 'another')
'''

# What Placement tells of itself.
VERSIONS = {'versions': [{
    'id': 'v1.0', 'status': 'CURRENT', 'min_version': '1.0',
    'max_version': '1.39', 'links': [{'rel': 'self', 'href': ''}]}]}


@dataclasses.dataclass(frozen=True)
class Ended:
    """A process that has ended.

    :param output: what it has printed.
    :param answer: the part of it that is on standard output.
    :param report: what probe.py has written, or None.
    """

    code: int
    output: str
    answer: str
    report: dict


class Placement(fixtures.Fixture):
    """Tells its versions, and nothing else.

    It is a process, for a thread would stand still while a test that runs
    under eventlet waits for a service.
    """

    def _setUp(self):
        folder = self.useFixture(fixtures.TempDir()).path
        pathlib.Path(folder, 'index.html').write_text(json.dumps(VERSIONS))
        process = subprocess.Popen(
            [sys.executable, '-u', '-m', 'http.server', '--bind', '127.0.0.1',
             '--directory', folder, '0'],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL, text=True)
        self.addCleanup(process.communicate)
        self.addCleanup(process.kill)
        said = process.stdout.readline()
        port = re.search(r'port (\d+)', said)[1]
        self.url = f'http://127.0.0.1:{port}'


class Nova(fixtures.Fixture):
    """The configuration, databases and environment of one service."""

    def _setUp(self):
        self.folder = pathlib.Path(
            self.useFixture(fixtures.TempDir()).path)
        self.configuration = {
            'DEFAULT': {
                'host': 'a-host',
                'transport_url': 'fake:/',
                'state_path': str(self.folder),
                'compute_driver': 'fake.FakeDriver',
                'periodic_enable': 'false',
            },
            'api_database': {
                'connection': self._database('api', api_models)},
            'database': {'connection': self._database('main', main_models)},
            'oslo_concurrency': {'lock_path': str(self.folder)},
            # Nobody listens there.
            'placement': {'auth_type': 'none',
                          'endpoint_override': 'http://127.0.0.1:9'},
        }
        # What a test runner sets there is not for the service.
        self.environment = {
            name: value for name, value in os.environ.items()
            if not name.startswith('OS_') and 'proxy' not in name.lower()}
        self.environment |= {
            'OS_NOVA_CONFIG_DIR': str(self.folder),
            'PYTHONPATH': os.pathsep.join([str(self.folder), str(ROOT)]),
            'PYTHONWARNINGS': 'ignore',
            'XDG_CACHE_HOME': str(self.folder),
        }
        shutil.copy(releases.PASTE, self.folder)

    def configure(self, options):
        """Add options, by section."""
        for section, values in options.items():
            self.configuration.setdefault(section, {}).update(values)

    def deceive(self, name):
        """Make a target look as if this Nova had another signature.

        :param name: of the target in cell0_rebuild.nova_internals.
        """
        (self.folder / 'sitecustomize.py').write_text(
            DECEPTION.format(name=name))

    def probe(self, program, *arguments):
        """Start a service under probe.py, and wait until it has ended."""
        return self._run(
            sys.executable, ROOT / 'tests/unit/probe.py',
            self.folder / 'report', program,
            *self._config_file(program), *arguments)

    def start(self, program, *arguments):
        """Start a console script, and wait until it has ended by itself."""
        return self._run(pathlib.Path(sys.executable).parent / program,
                         *self._config_file(program), *arguments)

    def load(self, module):
        """Import a WSGI application as a web server does."""
        return self._run(
            sys.executable, '-c', f'import {module} as module\n'
            f'vars(module).get("application") or module.init_application()')

    def _config_file(self, program):
        if program.startswith('nova.'):
            return []
        return ['--config-file', self.folder / 'nova.conf']

    def map_cell0(self):
        """Have Nova know its cell0, as a command needs it."""
        engine = sqlalchemy.create_engine(
            self.configuration['api_database']['connection'])
        with engine.begin() as connection:
            connection.execute(sqlalchemy.insert(
                api_models.CellMapping).values(
                uuid=objects.CellMapping.CELL0_UUID, name='cell0',
                transport_url='none:///',
                database_connection=self.configuration['database'][
                    'connection']))
        engine.dispose()

    def launch(self, program, *arguments):
        """Start a console script that runs until it is stopped."""
        self._write()
        return subprocess.Popen(
            [pathlib.Path(sys.executable).parent / program,
             *self._config_file(program), *arguments], env=self.environment,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, text=True)

    def _write(self):
        parser = configparser.ConfigParser(interpolation=None)
        parser.read_dict(self.configuration)
        with open(self.folder / 'nova.conf', 'w') as file:
            parser.write(file)

    def _run(self, *command):
        self._write()
        process = subprocess.run(
            [str(part) for part in command], env=self.environment,
            stdin=subprocess.DEVNULL, capture_output=True, text=True,
            timeout=300, check=False)
        report = self.folder / 'report'
        return Ended(process.returncode, process.stderr + process.stdout,
                     process.stdout, json.loads(report.read_text())
                     if report.exists() else None)

    def _database(self, name, models):
        url = f'sqlite:///{self.folder}/{name}.sqlite'
        engine = sqlalchemy.create_engine(url)
        models.BASE.metadata.create_all(engine)
        engine.dispose()
        return url
