# SPDX-License-Identifier: Apache-2.0

"""A cloud of real processes, of which one is killed at a boundary."""

import dataclasses
import json
import os
import pathlib
import sys

import fixtures
import requests

from tests.faults import boundaries
from tests.integration import cloud
from tests.integration import processes

CONDUCTOR = 'one'
_AGENT = pathlib.Path(__file__).parent / 'agent'

# Nobody is to wait long for a process that is dead.
_QUICK = {'DEFAULT': {'rpc_response_timeout': '20'},
          'cell0_rebuild': {'answer_timeout': '6'}}


class Cloud(cloud.Cloud):
    """The cloud of the integration tests, whose processes take orders."""

    def _setUp(self):
        self._orders = pathlib.Path(self.useFixture(fixtures.TempDir()).path)
        path = [str(_AGENT), os.environ.get('PYTHONPATH')]
        for name, value in (
                ('CELL0_REBUILD_FAULTS_ORDERS', str(self._orders)),
                ('PYTHONPATH', os.pathsep.join(filter(None, path)))):
            self.useFixture(fixtures.EnvironmentVariable(name, value))
        super()._setUp()

    def _start_api(self, name, port, *changes):
        return super()._start_api(name, port, *changes, _QUICK)

    def _start_service(self, binary, name, *changes):
        return super()._start_service(binary, name, *changes, _QUICK)

    def order(self, wanted):
        """Order what is to happen in the next rebuild or create, if any."""
        for name in ('order', 'struck', 'crossed'):
            (self._orders / name).unlink(missing_ok=True)
        if wanted is not None:
            # It must never be read half written.
            draft = self._orders / 'draft'
            draft.write_text(json.dumps(wanted))
            draft.rename(self._orders / 'order')

    def order_kill(self, boundary, when):
        """Order that the process dies at a boundary of the next one."""
        self.order([dataclasses.asdict(boundary), when])

    def crossed(self):
        """Return the boundaries that were recorded, in order."""
        lines = (self._orders / 'crossed').read_text().splitlines()
        return list(dict.fromkeys(
            boundaries.Boundary(**json.loads(line)[0]) for line in lines))

    def has_struck(self):
        """Tell whether a process was killed, and is not there any more."""
        try:
            pid = int((self._orders / 'struck').read_text())
            os.kill(pid, 0)
        except (FileNotFoundError, ValueError):
            return False
        except ProcessLookupError:
            return True
        return False

    def wait_for_return(self):
        """Wait until what was killed is there again, by its own parent."""
        processes.poll(self._api_answers, 'that nova-api answers', 300)
        for name in self._conductors:
            self.wait_for_conductor(name)

    def _api_answers(self):
        try:
            return self.api.ask('GET', '/servers').ok
        except requests.RequestException:
            return False

    def recover(self):
        """Run the command of the operator; return what it prints."""
        self._commands += 1
        done = self._programs.start(
            f'recover-{self._commands}', sys.executable, '-m',
            'cell0_rebuild.cmd.manage', '--config-file', self._manage_conf,
            'recover', '--older-than', '0')
        try:
            done.finish()
        except processes.ProcessError:
            return None
        return done.output

    def end_burial(self, server_id):
        """Do what operators do if the conductor has died at the end of it."""
        with self.connect() as connection, connection.cursor() as cursor:
            cursor.execute('DELETE FROM api.build_requests '
                           'WHERE instance_uuid = %s', server_id)

    def tables(self):
        """Return all rows as {database: {table: [row, ...]}}."""
        found = {}
        for (database, table), rows in self.dump().rows.items():
            if database != 'placement':
                found.setdefault(database, {})[table] = rows
        return found
