#    Licensed under the Apache License, Version 2.0 (the "License"); you may
#    not use this file except in compliance with the License. You may obtain
#    a copy of the License at
#
#         http://www.apache.org/licenses/LICENSE-2.0
#
#    Unless required by applicable law or agreed to in writing, software
#    distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
#    WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
#    License for the specific language governing permissions and limitations
#    under the License.

"""Bring back what a dead process has left, as an operator does."""

import contextlib

from nova import context as nova_context
from nova import exception
from nova import objects

from cell0_rebuild import objects as our_objects
from cell0_rebuild.exhumation import attempt as attempts
from cell0_rebuild.exhumation import cells
from cell0_rebuild.exhumation import grave
from cell0_rebuild.exhumation import mark


def recover(server_id):
    """Bury a server again, or clear what is left when it was handed over."""
    context = nova_context.get_admin_context()
    mapping = objects.InstanceMapping.get_by_instance_uuid(context, server_id)
    real = [cell for cell in objects.CellMappingList.get_all(context)
            if not cell.is_cell0()]
    with contextlib.suppress(exception.BuildRequestNotFound):
        _bury(context, server_id, objects.BuildRequest.get_by_instance_uuid(
            context, server_id), real)
        return
    cell = mapping.cell_mapping
    if cell is None or cell.is_cell0():
        _remove_from(context, server_id, real)
    elif _is_gone_or_on_a_host(context, server_id, cell):
        attempts.remove_grave(context, server_id)
        our_objects.forget(context, server_id)
    else:
        _bury_handed_over(context, server_id, mapping)


def _bury(context, server_id, build_request, real):
    found = mark.of(build_request.instance)
    mark.take_off(build_request.instance)
    for cell in real:
        attempts.bury_again(
            context, attempts.Attempt(build_request, found), cell,
            lambda cctxt: _record(cctxt, server_id))


def _bury_handed_over(context, server_id, mapping):
    home = cells.cell0(context)
    cctxt = cells.targeted(context, home)
    _remove_from(context, server_id, [mapping.cell_mapping])
    _record(cctxt, server_id)
    grave.show(cctxt, server_id)
    mapping.cell_mapping = home
    mapping.save()


def _remove_from(context, server_id, real):
    for cell in real:
        attempts.remove_from_cell(context, server_id, cell)


def _is_gone_or_on_a_host(context, server_id, cell):
    try:
        return objects.Instance.get_by_uuid(
            cells.targeted(context, cell), server_id).host is not None
    except exception.InstanceNotFound:
        return True


def _record(cctxt, server_id):
    instance = objects.Instance.get_by_uuid(cctxt, server_id)
    instance.vm_state = 'error'
    instance.save()
