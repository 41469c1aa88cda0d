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

from nova import context as nova_context
from nova import exception
from nova import objects

from cell0_rebuild import objects as our_objects
from cell0_rebuild.exhumation import attempt as attempts
from cell0_rebuild.exhumation import mark


def recover(server_id):
    """Bury a server again, or clear what is left when it was handed over."""
    context = nova_context.get_admin_context()
    try:
        build_request = objects.BuildRequest.get_by_instance_uuid(
            context, server_id)
    except exception.BuildRequestNotFound:
        mapping = objects.InstanceMapping.get_by_instance_uuid(
            context, server_id)
        if not mapping.cell_mapping.is_cell0():
            attempts.remove_grave(context, server_id)
            our_objects.forget(context, server_id)
        return
    found = mark.of(build_request.instance)
    mark.take_off(build_request.instance)

    def record(cctxt):
        instance = objects.Instance.get_by_uuid(cctxt, server_id)
        instance.vm_state = 'error'
        instance.save()
    for cell in objects.CellMappingList.get_all(context):
        if cell.is_cell0():
            continue
        attempts.bury_again(
            context, attempts.Attempt(build_request, found), cell, record)
