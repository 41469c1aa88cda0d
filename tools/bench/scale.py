# SPDX-License-Identifier: Apache-2.0

"""Many buried servers: what a rebuild costs, and a recovery."""

import time

import pairs
import real

COUNTS = (10, 1000, 100000)

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


def measure(rounds, counts=COUNTS):
    """Return what was measured with some buried servers, by their count."""
    found = {}
    with real.Cloud() as cloud:
        [template] = cloud.bury(1)
        there = 0
        for count in counts:
            clone(cloud, template, there + 1, count)
            there = count
            found[count] = {
                'rebuild': _rebuilds(cloud, rounds),
                'recover': _recover(cloud)}
    return found


def clone(cloud, template, first, last):
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


def _rebuilds(cloud, rounds):
    """Measure rebuilds, with creates in between to compare with."""
    buried = cloud.bury(rounds + 2)
    found = pairs.take_turns(cloud, rounds, {
        'create': cloud.create,
        'rebuild': lambda: cloud.rebuild(buried.pop())})
    with real.StatementLog(cloud) as log:
        pairs.sample(cloud, lambda: cloud.rebuild(buried[0]), kept=buried)
        # The conductor looks once more whether something is left to clear.
        time.sleep(1)
    return {**found, 'statements': log.count()}


def _recover(cloud):
    """Return the seconds and the MiB that a dry run of a recovery takes."""
    process = cloud.fixture.start_command('manage', 'recover', '--dry-run')
    began, peak, cpu = time.perf_counter(), 0, 0
    while not process.ended:
        for seconds, memory in real.usage({process.pid: 'it'}).values():
            peak, cpu = max(peak, memory), max(cpu, seconds)
        time.sleep(0.02)
    return {'seconds': time.perf_counter() - began, 'cpu': cpu,
            'mib': peak, 'code': process.code()}
