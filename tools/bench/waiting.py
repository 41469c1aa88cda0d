# SPDX-License-Identifier: Apache-2.0

"""Many servers that wait while nothing fits: what the service costs."""

import pathlib
import re
import signal
import time

import real
import requests

from tests.integration import processes

COUNTS = (1000, 10000, 100000)
SHAPES = 20
PROVIDERS = 1000
# How long each of them is watched, in seconds.
WATCHED = 120
# Servers of a project: Nova counts these for its quota, also for a create.
_OF_A_PROJECT = 100

_KEYS = {
    'cell0': {
        'instances': 'uuid', 'instance_id_mappings': 'uuid', **dict.fromkeys((
            'instance_extra', 'instance_info_caches', 'instance_faults',
            'instance_system_metadata', 'instance_actions',
            'block_device_mapping'), 'instance_uuid')},
    'api': dict.fromkeys(
        ('instance_mappings', 'request_specs'), 'instance_uuid'),
}

_METRIC = r'(?m)^cell0_rebuild_wait_{}(?:{{.*}})? (.*)$'
_SWEEPS = 'sweep_seconds_count'
_COMPARED = (_SWEEPS, 'sweep_seconds_sum', 'probes_total',
             'probe_seconds_total', 'requests_total')


def measure(options):
    """Return what was measured with some servers that wait, by their count."""
    found = {}
    with real.Cloud() as cloud:
        templates = [_bury(cloud, number) for number in range(SHAPES)]
        _providers(cloud)
        with _Service(cloud):
            cloud.wait_until_told(*templates)
        there = 1
        for count in COUNTS:
            if count > there * SHAPES:
                for number, template in enumerate(templates):
                    # Those of each shape have numbers of their own.
                    first = number * max(COUNTS)
                    _clone(cloud, template, first + there,
                                first + count // SHAPES - 1)
                there = count // SHAPES
            found[count] = _watch(cloud, count)
    return found


def _bury(cloud, number):
    """Bury a server of a flavor of its own, and return its ID."""
    flavor = cloud.api.post('/flavors', {'flavor': {
        'name': f'shape{number}', 'ram': 1024 + number, 'vcpus': 1,
        'disk': 1}})['flavor']['id']
    cloud.fixture.close_hosts()
    server = cloud.create(flavorRef=flavor)
    cloud.do.wait_for('ERROR', server)
    return server


def _clone(cloud, template, first, last):
    """Make rows of more servers like one."""
    for database, tables in _KEYS.items():
        for table, key in tables.items():
            columns = [name for name, in cloud.query(
                'SELECT column_name FROM information_schema.columns WHERE '
                'table_schema = %s AND table_name = %s AND extra NOT LIKE %s',
                database, table, '%auto_increment%')]
            values = [_value(column, key) for column in columns]
            cloud.query(
                f'INSERT INTO {database}.{table} '
                f'({", ".join(f"`{name}`" for name in columns)}) '
                f'SELECT {", ".join(values)} FROM {database}.{table} AS t '
                f'JOIN {database}.seq_{first}_to_{last} AS s '
                f'WHERE t.{key} = %s',
                template)
            cloud.query(f'ANALYZE TABLE {database}.{table}')


def _value(column, key):
    if column == key:
        return "CONCAT('00000000-0000-4000-8000-', LPAD(s.seq, 12, '0'))"
    if column == 'uuid':
        return 'UUID()'
    if column == 'project_id':
        return f"CONCAT('project-', s.seq DIV {_OF_A_PROJECT})"
    return f't.`{column}`'


def _providers(cloud):
    """Have Placement know many full hosts like the one that there is."""
    [(template,)] = cloud.query('SELECT id FROM placement.resource_providers')
    cloud.query(
        'INSERT INTO placement.resource_providers (created_at, uuid, name, '
        'generation) SELECT NOW(), UUID(), CONCAT("host-", s.seq), 1 '
        f'FROM placement.seq_2_to_{PROVIDERS} AS s')
    cloud.query('UPDATE placement.resource_providers SET root_provider_id = '
                'id WHERE root_provider_id IS NULL')
    cloud.query(
        'INSERT INTO placement.inventories (created_at, resource_provider_id, '
        'resource_class_id, total, reserved, min_unit, max_unit, step_size, '
        'allocation_ratio) SELECT NOW(), p.id, i.resource_class_id, i.total, '
        'i.total, 1, i.total, 1, 1 FROM placement.resource_providers AS p '
        'JOIN placement.inventories AS i WHERE i.resource_provider_id = %s '
        'AND p.id != %s', template, template)


class _Service:
    """The waiting service, with metrics."""

    def __init__(self, cloud):
        [self._port] = processes.free_ports(1)
        self.began = time.perf_counter()
        self._process = cloud.fixture.start_waiting_service(
            who='all', metrics=f'127.0.0.1:{self._port}')

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self._process.signal(signal.SIGTERM)
        self._process.finish()

    def metric(self, name):
        """Return the sum of a metric, or 0 if it is not there yet."""
        try:
            text = requests.get(
                f'http://127.0.0.1:{self._port}/metrics', timeout=60).text
        except requests.ConnectionError:
            return 0
        return sum(map(float, re.findall(_METRIC.format(name), text)))

    def all(self):
        """Return the metrics that are compared later, by name."""
        return {name: self.metric(name) for name in _COMPARED}

    def peak(self):
        """Return the most memory that one of its processes has had, in MiB.

        The one that sweeps is a child of the one that was started.
        """
        return max(
            int(kibibytes) / 1024 for pid in real.members(self._process.pid)
            for kibibytes in re.findall(
                r'(?m)^VmHWM:\s+(\d+) kB',
                pathlib.Path(f'/proc/{pid}/status').read_text()))


def _watch(cloud, count):
    """Start the service, let it sweep and return what that took."""
    asked = _questions(cloud)
    with _Service(cloud) as service:
        real.wait(lambda: _questions(cloud) > asked, pause=0.05)
        first_probe = time.perf_counter() - service.began
        real.wait(lambda: service.metric(_SWEEPS), pause=0.05)
        first_sweep = time.perf_counter() - service.began
        # The second look tells owners what has changed: nothing.
        real.wait(lambda: service.metric(_SWEEPS) > 2, pause=0.5)
        before, used = service.all(), cloud.usage()
        began = time.perf_counter()
        with real.StatementLog(cloud) as log, cloud.fixture.broker.tapped(
                'nova', 'scheduler') as scheduler_calls:
            # Of what is slow there is at least one.
            time.sleep(WATCHED)
            real.wait(lambda: service.metric(_SWEEPS) > before[_SWEEPS],
                      pause=0.5)
            called = scheduler_calls()
        statements = log.count()
        writes = log.count('INSERT|UPDATE|DELETE', 'services|compute_nodes')
        seconds = time.perf_counter() - began
        spent = cloud.spent(used)
        after, peak = service.all(), service.peak()
        waiting = service.metric('servers')
    if waiting != count:
        raise processes.ProcessError(f'{waiting} servers wait, not {count}')
    more = {name: after[name] - before[name] for name in before}
    sweeps = more[_SWEEPS]
    return {'first_probe': first_probe, 'first_sweep': first_sweep,
            'read': _seconds_to_read(cloud), 'mib': peak,
            'sweep': more['sweep_seconds_sum'] / sweeps,
            'sweeps': sweeps / seconds * 60,
            'statements': statements / sweeps, 'writes': writes,
            'probes': more['probes_total'] / sweeps,
            'probe': more['probe_seconds_total'] / more['probes_total'],
            'placement': spent['placement'] / seconds,
            'scheduler': called, 'requests': more['requests_total']}


def _questions(cloud):
    """Return how many times Placement was asked for room."""
    return cloud.fixture.output_of('placement').count(
        'GET /allocation_candidates')


def _seconds_to_read(cloud):
    """Return how long a command takes that reads all that wait, and ends."""
    began = time.perf_counter()
    process = cloud.fixture.start_waiting_service('--dry-run', who='all')
    if process.code():
        raise processes.ProcessError(process.output)
    return time.perf_counter() - began
