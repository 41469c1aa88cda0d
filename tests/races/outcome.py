# SPDX-License-Identifier: Apache-2.0

"""How two operations have ended, in a form that can be compared."""

from nova import context as nova_context
from nova import exception
from nova import objects

from tests.functional import databases
from tests.functional import updating

_SHOWN = ('status', 'locked', 'tags', 'image')
# An action that is recorded in cell0 after the hand-over is not carried over.
_HISTORY = {'create', 'rebuild', 'delete'}
# Nova itself leaves them until a deleted server is archived.
_STAY = {'request_specs', 'instance_mappings'}
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
        'volumes': len(list(test.cinder.volume_ids_for_instance(server_id))),
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
        found['kept'] = _is_kept(server_id)
    return found


def rows_of(server_id):
    """Return where the server has rows, and of which kind."""
    found = set()
    for database, tables in databases.dump(server_id).items():
        names = set(databases.rows_with(server_id, tables))
        if database == 'api':
            found |= {f'api.{name}' for name in names - _STAY}
            # That of a deleted one may stay or, of one on its way, go.
            found |= {'mapping' for row in tables['instance_mappings']
                      if row['instance_uuid'] == server_id
                      and not row['queued_for_delete']}
            continue
        instances = [row for row in tables['instances']
                     if row['uuid'] == server_id]
        orphans = sorted(names - _ASKED_FOR)
        if not instances and orphans:
            found.add(f'orphans in {database}: {orphans}')
        found |= {_instance(database, row) for row in instances}
    # Nova archives a deleted one; where it was is no matter.
    return sorted(found - {None})


def _instance(database, row):
    if row['deleted']:
        return None
    hidden = ', hidden' if row['hidden'] else ''
    return (f'{database}: {row["vm_state"]}/{row["task_state"]}{hidden}')


def _is_kept(server_id):
    try:
        return databases.spec_of(server_id).retained is not None
    except exception.RequestSpecNotFound:
        return None


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
