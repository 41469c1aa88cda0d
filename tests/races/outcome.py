# SPDX-License-Identifier: Apache-2.0

"""How two operations have ended, in a form that can be compared."""

import json
import re

from nova import context as nova_context
from nova import exception
from nova import objects

from tests.functional.support import databases
from tests.functional.support import updating

_SHOWN = ('status', 'locked', 'tags', 'image')
# An action that is recorded in cell0 after the hand-over is not carried over.
_HISTORY = {'create', 'rebuild', 'delete'}
# Each server has IDs of its own: its ports, the cells of its attempts.
_ID = re.compile('[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}')
# A server is given an EC2 ID in the cell where somebody asks for it.
_ASKED_FOR = {'instance_id_mappings'}


def of(test, server_id):
    """Return {what: value} of a server."""
    response = test.api.api_request(f'/servers/{server_id}')
    listed = [shown['status'] for shown in test.api.get_servers()
              if shown['id'] == server_id]
    found = {
        'GET': response.status_code, 'listed': listed,
        'allocations': bool(test._get_allocations_by_server_uuid(server_id)),
        # Each server has its own, so that their IDs say nothing.
        'ports': sum(port.get('device_id') == server_id
                     for port in test.neutron._ports.values()),
        'ports of its owner': _kept_ports(test),
        'volumes': len(list(test.cinder.volume_ids_for_instance(server_id))),
        'accelerators': test.accelerators_of(server_id),
        'rows': rows_of(server_id)}
    shown = response.json().get('server', {})
    if shown.get('status') == 'DELETED':
        # An administrator is shown it until it is archived.
        found['GET'], found['listed'] = 404, []
    elif shown:
        found.update((name, shown[name]) for name in _SHOWN if name in shown)
        found.update(updating.shown(shown, updating.newest()[1]))
        found['flags'] = sorted(
            volume['delete_on_termination']
            for volume in shown['os-extended-volumes:volumes_attached'])
        found['actions'] = sorted({
            action['action'] for action in
            test.api.get_instance_actions(server_id)} & _HISTORY)
    return found


def _kept_ports(test):
    """Return how many of the ports that it was created with are there."""
    asked = test._server['asked'].get('networks')
    return sum(network['port'] in test.neutron._ports for network in (
        asked if isinstance(asked, list) else []) if 'port' in network)


def rows_of(server_id):
    """Return where the server has rows, and of which kind."""
    dump = databases.dump(server_id)
    of_api = dump.pop('api')
    instances = [(database, row) for database, tables in dump.items()
                 for row in tables['instances']]
    found = {_orphans(database, databases.rows_with(server_id, tables))
             for database, tables in dump.items() if not tables['instances']}
    is_live = of_api['build_requests'] or any(
        not row['deleted'] for _, row in instances)
    if is_live or not instances:
        # Of a deleted one without a row, Nova never archives them.
        found |= {_of_api(name, row) for name, rows in of_api.items()
                  for row in rows}
        found |= {_instance(*where) for where in instances}
    else:
        found |= {'mapping' for row in of_api['instance_mappings']
                  if not row['queued_for_delete']}
    return sorted(found - {None})


def _orphans(database, names):
    orphans = sorted(set(names) - _ASKED_FOR)
    return f'orphans in {database}: {orphans}' if orphans else None


def _instance(database, row):
    # With a deleted row, Nova archives the mapping of a server that lives.
    deleted = ', deleted' if row['deleted'] else ''
    hidden = ', hidden' if row['hidden'] else ''
    state = f'{row["vm_state"]}/{row["task_state"]}'
    return f'{database}: {state}{hidden}{deleted}'


def _of_api(name, row):
    if name == 'instance_mappings':
        return (f'mapped to {_cell(row["cell_id"])}, '
                f'deleted: {bool(row["queued_for_delete"])}')
    if name == 'request_specs':
        return f'retained: {_retained(json.loads(row["spec"]))}'
    return f'api.{name}'


def _cell(cell_id):
    context = nova_context.get_admin_context()
    return next((cell.name for cell in objects.CellMappingList.get_all(
        context) if cell.id == cell_id), None)


def _retained(spec):
    section = spec.get('cell0_rebuild')
    return section and _ID.sub('ID', json.dumps({
        name: value for name, value in section.items() if value},
        sort_keys=True))


def is_busy(server_id):
    """Tell whether a compute is at work on the server."""
    context = nova_context.get_admin_context()
    cell = next(cell for cell in objects.CellMappingList.get_all(context)
                if not cell.is_cell0())
    with nova_context.target_cell(context, cell) as cctxt:
        try:
            instance = objects.Instance.get_by_uuid(
                cctxt, server_id, expected_attrs=[])
        except exception.InstanceNotFound:
            return False
    # An operator can set it to active before the compute does.
    is_early = instance.vm_state == 'active' and instance.launched_at is None
    # It is "deleted" a moment before its row is.
    return (instance.task_state is not None or is_early
            or instance.vm_state in ('building', 'deleted'))
