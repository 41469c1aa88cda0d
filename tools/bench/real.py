# SPDX-License-Identifier: Apache-2.0

"""A cloud of real processes, and what is measured on it."""

import collections
import contextlib
import os
import time

import psutil

from tests.integration import base
from tests.integration import cloud as clouds
from tests.integration import processes
from tests.integration import standins

# Room for all servers of the benchmark on one host, and no limit on what is
# done at a time.
_LARGE = {'DEFAULT': {'compute_driver': 'fake.FakeDriver',
                      'max_concurrent_builds': '0'}}
# Else one of many hosts may get all that come at the same time.
_SPREAD = {'filter_scheduler': {'host_subset_size': '100'}}
_POLL = 0.005


class Cloud:
    """The cloud of the integration tests, with one conductor."""

    def __init__(self, hosts=1):
        """:param hosts: how many computes it has."""
        self.fixture = clouds.Cloud(changes=[_SPREAD])
        self._hosts = [f'compute{number}' for number in range(hosts)]
        self._stack = contextlib.ExitStack()

    def __enter__(self):
        self._stack.callback(self.fixture.cleanUp)
        self.fixture.setUp()
        self.fixture.conductors(enabled=['conductor'])
        for host in self._hosts:
            self.fixture.add_host(host, _LARGE)
        self.connection = self._stack.enter_context(self.fixture.connect())
        self.do = base.Actions(self.fixture)
        self.api = self.fixture.api
        return self

    def __exit__(self, *exc):
        self._stack.close()

    def bury(self, count):
        """Return the IDs of new buried servers."""
        found = self.do.bury(count)
        self.fixture.open_host()
        return found

    def create(self, api=None, **more):
        """Ask for a server and return its ID."""
        return (api or self.api).post('/servers', {'server': {
            'name': 'server', 'flavorRef': 'small', 'networks': 'none',
            'imageRef': standins.IMAGE, **more}})['server']['id']

    def rebuild(self, server, api=None):
        """Ask for the rebuild of a buried server."""
        answer = (api or self.api).rebuild(server)
        answer.raise_for_status()
        return server

    def replace(self, server):
        """Do what is done today: delete a server and create another."""
        self.api.delete(f'/servers/{server}')
        return self.create()

    def rebuild_launched(self, server):
        """Ask for the rebuild of a launched server."""
        self.api.post(f'/servers/{server}/action', {'rebuild': {
            'imageRef': standins.IMAGE}})
        return server

    def remove(self, *servers):
        """Delete servers and wait until nothing is left to do for them."""
        for server in servers:
            self.api.delete(f'/servers/{server}')
        wait(lambda: not self._rows(servers))

    def remove_all(self, servers):
        """Delete many servers, from the databases and Placement only.

        A compute would ask Placement for each of the others at each delete.
        """
        with self.fixture.no_host():
            self.remove(*servers)

    def wait_until_active(self, *servers):
        """Wait until servers are ACTIVE, without asking Nova."""
        wait(lambda: [('active', None)] * len(servers) == self._rows(servers))

    def wait_until_ended(self, *servers):
        """Wait until servers are ACTIVE or in ERROR; return the latter."""
        rows = []

        def have_ended():
            rows[:] = self.query(' UNION ALL '.join(
                f'SELECT uuid, vm_state FROM {cell}.instances WHERE '
                f'deleted = 0 AND hidden = 0 AND task_state IS NULL '
                f"AND vm_state IN ('active', 'error') AND uuid IN %s"
                for cell in ('cell0', 'cell1')), servers, servers)
            return len(rows) == len(servers)
        wait(have_ended, pause=0.1)
        return [server for server, state in rows if state == 'error']

    def wait_until_clear(self, *servers):
        """Wait until nothing is kept of servers that were rebuilt."""
        wait(lambda: not self.query(
            'SELECT id FROM api.request_specs WHERE instance_uuid IN %s '
            'AND spec LIKE %s', servers, '%"cell0_rebuild"%'))

    def wait_until_told(self, *servers):
        """Wait until the owners of servers read why they wait."""
        wait(lambda: self.query(
            'SELECT COUNT(*) FROM cell0.instance_actions WHERE '
            "action = 'wait' AND instance_uuid IN %s", servers)
            == [(len(servers),)], pause=1)

    def query(self, statement, *values):
        """Return the rows that a statement finds in the databases.

        :param values: PyMySQL makes a list of what is one.
        """
        with self.connection.cursor() as cursor:
            cursor.execute(statement, values)
            return list(cursor.fetchall())

    def _rows(self, servers):
        return self.query(
            'SELECT vm_state, task_state FROM cell1.instances '
            'WHERE deleted = 0 AND uuid IN %s', servers)

    def usage(self):
        """Return the CPU seconds and memory of the processes, by name."""
        return usage({
            group: 'compute' if name in self._hosts else name
            for group, name in self.fixture.groups().items()})

    def spent(self, before):
        """Return the CPU seconds since an earlier usage, by name."""
        return {name: seconds - before.get(name, (0, 0))[0]
                for name, (seconds, _) in self.usage().items()}


def wait(condition, pause=_POLL):
    """Wait until a condition is true."""
    end = time.monotonic() + 900
    while not condition():
        if time.monotonic() > end:
            raise processes.ProcessError('a server did not get ready')
        time.sleep(pause)


def usage(groups):
    """Return {name: (CPU seconds, MiB)} of process groups.

    :param groups: names by the ID of the group.
    """
    found = collections.defaultdict(lambda: [0.0, 0.0])
    for process, group in _processes():
        if name := groups.get(group):
            with contextlib.suppress(psutil.NoSuchProcess):
                spent, memory = process.cpu_times(), process.memory_info()
                found[name][0] += spent.user + spent.system
                found[name][1] += memory.rss / 2 ** 20
    return found


def members(group):
    """Return the IDs of the processes of a group."""
    return [process.pid for process, of in _processes() if of == group]


def _processes():
    """Yield each process with the ID of its group."""
    for process in psutil.process_iter():
        with contextlib.suppress(ProcessLookupError):
            yield process, os.getpgid(process.pid)


class StatementLog:
    """Counts the statements that MariaDB is sent."""

    def __init__(self, cloud):
        self._cloud = cloud

    def __enter__(self):
        for statement in ("SET GLOBAL log_output = 'TABLE'",
                          'TRUNCATE mysql.general_log',
                          'SET GLOBAL general_log = ON'):
            self._cloud.query(statement)
        return self

    def __exit__(self, *exc):
        self._cloud.query('SET GLOBAL general_log = OFF')

    def count(self, kinds='SELECT|INSERT|UPDATE|DELETE',
              others='^SELECT (1|@@)|services'):
        """Return how many it was sent of some kinds, without others."""
        [(count,)] = self._cloud.query("""
            SELECT COUNT(*) FROM mysql.general_log WHERE command_type = 'Query'
            AND thread_id != CONNECTION_ID()
            AND CONVERT(argument USING utf8mb4) RLIKE %s
            AND CONVERT(argument USING utf8mb4) NOT RLIKE %s""",
            f'^[[:space:]]*({kinds})', others)
        return count
