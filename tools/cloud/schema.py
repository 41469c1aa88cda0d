# SPDX-License-Identifier: Apache-2.0

"""The databases of the cloud and what must be in them at first."""

import concurrent.futures
import functools
import subprocess
import urllib.parse

import pymysql

from tests.integration import processes
from tests.integration import settings
from tools.cloud.configuration import nova
from tools.cloud import plan as plans
from tools.cloud import services

_NOVA = ('nova_api', 'nova_cell0', *(f'nova_{cell}' for cell in plans.CELLS))
NAMES = ('keystone', 'glance', 'placement', 'neutron', 'cinder', *_NOVA)


def create(plan):
    """Create the databases, empty."""
    url = _address(plan)
    with pymysql.connect(
            host=url.hostname, port=url.port or 3306, user=url.username,
            password=url.password or '', autocommit=True) as connection, \
            connection.cursor() as cursor:
        for name in NAMES:
            cursor.execute(f'CREATE DATABASE IF NOT EXISTS `{name}` '
                           f'CHARACTER SET utf8mb3')


def fill(plan, step):
    """Give each database its tables, Keystone an administrator, Nova cells.

    :param step: returns a context for each part, with a name.
    """
    def work(what, job, *arguments):
        with step(what):
            job(plan, *arguments)

    def all_of(jobs):
        list(pool.map(lambda job: work(*job), jobs))

    settings.write(_manage_file(plan), nova.manage(plan))
    with concurrent.futures.ThreadPoolExecutor(3) as pool:
        all_of((f'database of {name}', *job) for name, job in {
            "Nova's cells": (_nova_cells,),
            'Neutron': (_sync, 'neutron', 'neutron-db-manage', 'upgrade',
                        'heads'),
            'Keystone': (_keystone,),
            "Nova's API": (_nova_manage, 'api_db', 'sync'),
            'Cinder': (_sync, 'cinder', 'cinder-manage', 'db', 'sync'),
            'Glance': (_sync, 'glance', 'glance-manage', 'db_sync'),
            'Placement': (_sync, 'placement', 'placement-manage', 'db',
                          'sync')}.items())
        known = _nova_manage(plan, 'cell_v2', 'list_cells')
        all_of([('map cell0', _nova_manage, 'cell_v2', 'map_cell0',
                 '--database_connection', plan.database('nova_cell0')), *(
            (f'map {cell}', _nova_manage, 'cell_v2', 'create_cell', '--name',
             cell, '--database_connection', plan.database(f'nova_{cell}'),
             '--transport-url', plan.broker(cell))
            for cell in plans.CELLS if f' {cell} ' not in known)])


def discover_hosts(plan):
    """Map the computes that have appeared to their cells."""
    settings.write(_manage_file(plan), nova.manage(plan))
    _nova_manage(plan, 'cell_v2', 'discover_hosts')


def run(plan, name, *command):
    """Run a command and return what it has printed and logged.

    :param name: of the log, which keeps what earlier ones have said.
    :raises ProcessError: if it fails.
    """
    home, logs = plan.folder / 'home' / name, plan.folder / 'log'
    for folder in (home, logs):
        folder.mkdir(parents=True, exist_ok=True)
    log = logs / f'{name}.log'
    log.touch()
    process = processes.Process(
        name, command, log, processes.clean_environment(home))
    earlier = len(process.output)
    process.start().finish(seconds=1800)
    return process.output[earlier:]


def _keystone(plan):
    manage = functools.partial(_sync, plan, 'keystone', 'keystone-manage')
    manage('db_sync')
    manage('fernet_setup', '--keystone-user', 'root', '--keystone-group',
           'root')
    url = plan.url('keystone')
    manage('bootstrap', '--bootstrap-password', plans.PASSWORD,
           '--bootstrap-region-id', 'RegionOne', '--bootstrap-public-url',
           f'{url}/v3', '--bootstrap-internal-url', f'{url}/v3',
           '--bootstrap-admin-url', f'{url}/v3')


def _nova_cells(plan):
    _nova_manage(plan, 'db', 'sync', '--local_cell')
    for target in ('nova_cell0', 'nova_cell2'):
        _copy(plan, 'nova_cell1', target)


def _sync(plan, name, command, *arguments):
    [service] = [found for found in (
        services.identity(plan), *services.openstack(plan))
        if found.name == name]
    service.write()
    run(plan, command, command, '--config-file', service.file, *arguments)


def _nova_manage(plan, *arguments):
    return run(plan, 'nova-manage', 'nova-manage', '--config-file',
               _manage_file(plan), *arguments)


def _manage_file(plan):
    return plan.folder / 'etc' / 'nova-manage' / 'nova.conf'


def _address(plan):
    return urllib.parse.urlsplit(plan.database(''))


def _copy(plan, source, target):
    url = _address(plan)
    client = ('--no-defaults', '--protocol=tcp', f'--host={url.hostname}',
              f'--port={url.port or 3306}', f'--user={url.username}',
              f'--password={url.password or ""}')
    dump = subprocess.run(['mariadb-dump', *client, source], check=True,
                          capture_output=True).stdout
    subprocess.run(['mariadb', *client, target], check=True, input=dump)
