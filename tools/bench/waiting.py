# SPDX-License-Identifier: Apache-2.0

"""Many servers that wait while nothing fits: what the service costs."""

import re
import signal
import time

import real
import requests
import scale

from tests.integration import processes
from tests.integration import standins

COUNTS = (1000, 10000, 100000)
SHAPES = 20
PROVIDERS = 1000
# How long each of them is watched, in seconds.
WATCHED = 120

_METRIC = r'(?m)^cell0_rebuild_wait_{}(?:{{.*}})? (.*)$'
_WRITES = """
    SELECT COUNT(*) FROM mysql.general_log WHERE command_type = 'Query'
    AND CONVERT(argument USING utf8mb4) RLIKE
        '^[[:space:]]*(INSERT|UPDATE|DELETE)'
    AND CONVERT(argument USING utf8mb4) NOT RLIKE 'services|compute_nodes'"""


def measure(counts=COUNTS):
    """Return what was measured with some servers that wait, by their count."""
    found = {}
    with real.Cloud() as cloud:
        templates = [_bury(cloud, number) for number in range(SHAPES)]
        _providers(cloud)
        with _Service(cloud):
            real.wait(lambda: _told(cloud) == SHAPES, pause=1)
        there = 1
        for count in counts:
            if count > there * SHAPES:
                for number, template in enumerate(templates):
                    scale.clone(cloud, template,
                                *_span(number, there, count // SHAPES))
                there = count // SHAPES
            found[count] = _watch(cloud)
    return found


def _span(number, there, wanted):
    """Return the numbers of the clones of one shape."""
    first = number * max(COUNTS)
    return first + there, first + wanted - 1


def _bury(cloud, number):
    """Bury a server of a flavor of its own, and return its ID."""
    flavor = cloud.api.post('/flavors', {'flavor': {
        'name': f'shape{number}', 'ram': 1024 + number, 'vcpus': 1,
        'disk': 1}})['flavor']['id']
    cloud.fixture.close_hosts()
    server = cloud.api.post('/servers', {'server': {
        'name': 'server', 'flavorRef': flavor, 'networks': 'none',
        'imageRef': standins.IMAGE}})['server']['id']
    cloud.do.wait_for('ERROR', server)
    return server


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


def _told(cloud):
    [(count,)] = cloud.query('SELECT COUNT(*) FROM cell0.instance_actions '
                             "WHERE action = 'wait'")
    return count


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

    def sweeps(self):
        """Return how many sweeps have ended."""
        return self.metric('sweep_seconds_count')

    def usage(self):
        """Return the CPU seconds and the MiB of its processes."""
        return real.usage({self._process.pid: 'it'})['it']


def _watch(cloud):
    """Start the service, let it sweep and return what that took."""
    with _Service(cloud) as service:
        real.wait(service.sweeps, pause=0.05)
        first = time.perf_counter() - service.began
        peak = service.usage()[1]
        # The second look tells owners what has changed: nothing.
        real.wait(lambda: service.sweeps() > 2, pause=0.5)
        names = ('sweep_seconds_count', 'sweep_seconds_sum', 'probes_total',
                 'probe_seconds_total', 'requests_total')
        before = {name: service.metric(name) for name in names}
        used, began = cloud.usage(), time.perf_counter()
        with real.StatementLog(cloud) as log:
            time.sleep(WATCHED)
        [(writes,)] = cloud.query(_WRITES)
        seconds = time.perf_counter() - began
        spent = real.spent(used, cloud.usage())
        more = {name: service.metric(name) - before[name] for name in names}
        peak = max(peak, service.usage()[1])
        waiting = service.metric('servers')
    sweeps = more['sweep_seconds_count']
    return {'waiting': waiting, 'first': first, 'mib': peak,
            'sweep': more['sweep_seconds_sum'] / sweeps,
            'sweeps': sweeps / seconds * 60,
            'statements': log.count / sweeps, 'writes': writes,
            'probes': more['probes_total'] / sweeps,
            'probe': more['probe_seconds_total'] / more['probes_total'],
            'placement': spent['placement'] / seconds,
            'requests': more['requests_total']}
