# SPDX-License-Identifier: Apache-2.0

"""The Novas that a cloud can be made of."""

import dataclasses
import os
import pathlib

from tests import releases
from tests.integration import processes

# Names the folder of an environment, of tools/run_matrix.py say, and the
# release of Nova there.
FOLDER = 'CELL0_REBUILD_NOVA'
RELEASE = 'CELL0_REBUILD_NOVA_RELEASE'

# The API of older ones runs under eventlet, which has no place in threads of
# a web server: they get processes, as they do from distributions.
_THREADS = ('--workers=1', '--threads=8')
_PROCESSES = ('--workers=2',)


@dataclasses.dataclass(frozen=True)
class Nova:
    """A Nova with its Placement and cell0-rebuild, in one environment.

    :param release: its number.
    :param bin: the folder of all programs of the environment, as they see it.
    :param root: of the system that they see.
    :param enter: what runs a program in that system.
    """

    release: int = releases.RELEASE
    bin: pathlib.Path = processes.BIN
    root: pathlib.Path = pathlib.Path('/')
    enter: tuple[pathlib.Path, ...] = ()

    @property
    def highest(self):
        """Its own highest microversion."""
        return releases.DOCUMENTED[self.release]

    @property
    def paste(self):
        """The api-paste.ini that it ships."""
        return releases.paste(self._outside(self.bin.parent))

    def command(self, program, *arguments):
        """Return a command line."""
        return *self.enter, self.bin / program, *arguments

    def api(self, port):
        """Return the command line of its API."""
        return self._serve(
            'nova-api-wsgi', 'nova.wsgi.osapi_compute', port,
            _PROCESSES if self.release < 33 else _THREADS)

    def placement(self, port):
        """Return the command line of its Placement."""
        return self._serve(
            'placement-api', 'placement.wsgi.api', port, _THREADS)

    def _serve(self, script, module, port, workers):
        # Debian's plain one does not know Python.
        [*_, server] = filter(self._has, ('uwsgi', 'uwsgi_python3'))
        return self.command(
            server, '--master', '--lazy-apps', '--need-app', '--no-orphans',
            '--die-on-term', *workers, *self._reload(),
            # Said because it does it: clients must not use it again.
            '--add-header=Connection: close',
            # It would import what is in the folder of the tests.
            '--chdir=/', f'--http-socket=127.0.0.1:{port}',
            f'--wsgi-file={self.bin / script}' if self._has(script)
            else f'--module={module}:application')

    def _reload(self):
        # What it starts again when it is told to reload: it would take the
        # Python that the environment was made with.
        return ([f'--binary-path={self.bin / "python"}']
                if self._has('python') else [])

    def _has(self, program):
        # A link there may be absolute, and lead nowhere from here.
        return os.path.lexists(self._outside(self.bin, program))

    def _outside(self, *parts):
        return self.root / pathlib.Path(*parts).relative_to('/')


def at(folder, release):
    """Return the Nova of an environment of tools/run_matrix.py."""
    enter = folder / 'enter'
    if enter.exists():
        return Nova(release, pathlib.Path('/usr/bin'), folder / 'root',
                    (enter,))
    return Nova(release, folder / 'venv/bin')


def wanted():
    """Return the Nova that the tests are to run on: that of the tests."""
    if FOLDER in os.environ:
        return at(pathlib.Path(os.environ[FOLDER]), int(os.environ[RELEASE]))
    return Nova()
