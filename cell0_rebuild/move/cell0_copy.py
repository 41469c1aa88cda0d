# SPDX-License-Identifier: Apache-2.0

"""Copy what is in cell0 into what a build request holds.

The objects of a build request are made as nova-api makes them for a create
(``compute.api.API._populate_instance_for_create`` and
``_provision_instances``), because Nova's conductor creates rows from them.
"""

from __future__ import annotations

import copy
import dataclasses
import typing as ty

from nova.compute import task_states
from nova.compute import vm_states
from nova.network import model as network_model
from nova import objects

if ty.TYPE_CHECKING:
    from nova import context as nova_context

LOADED = ['metadata', 'system_metadata', 'flavor', 'numa_topology',
          'pci_requests', 'keypairs', 'trusted_certs', 'vcpu_model',
          'device_metadata', 'resources', 'tags']

# What belongs to the row in cell0, or would be taken for a host's.
_DROPPED = frozenset((
    'id', 'created_at', 'updated_at', 'deleted', 'deleted_at', 'hidden',
    'cleaned', 'host', 'node', 'compute_id', 'launched_at', 'launched_on',
    'terminated_at', 'cell_name', 'ec2_ids', 'fault', 'services', 'tags',
    'pci_devices', 'migration_context', 'info_cache', 'security_groups'))

_DROPPED_OF_BDM = frozenset((
    'id', 'created_at', 'updated_at', 'deleted', 'deleted_at', 'instance'))


@dataclasses.dataclass
class Buried:
    """A buried server as it was read from its cell.

    :param instance: with all of :data:`LOADED`.
    :param bdms: its block device mappings.
    """

    instance: objects.Instance
    bdms: objects.BlockDeviceMappingList


# Nova reads each of them by a statement of its own.
_OF_THEIR_OWN = ('metadata', 'system_metadata')


def read(
    context: nova_context.RequestContext, instance_uuid: str,
    before: objects.Instance | None = None,
) -> Buried:
    """Read a server that is buried, or one that its attempt has moved.

    :param context: targeted at cell0, or at the cell that it has reached.
    :param before: the server as it was read just before; its metadata are
        used again. Only the reason of a lock can have changed since, and
        :mod:`late_changes` finds that.
    :raises InstanceNotFound: if it was deleted.
    """
    known = () if before is None else _OF_THEIR_OWN
    instance = objects.Instance.get_by_uuid(
        context, instance_uuid,
        expected_attrs=[name for name in LOADED if name not in known])
    for name in known:
        setattr(instance, name, dict(getattr(before, name)))
    instance.obj_reset_changes(known)
    bdms = objects.BlockDeviceMappingList.get_by_instance_uuid(
        context, instance_uuid)
    # Nova asks for no order, but a compute names devices in theirs.
    bdms.objects.sort(key=lambda bdm: bdm.id)
    return Buried(instance, bdms)


def instance_to_build(buried: objects.Instance) -> objects.Instance:
    """Return the instance for a build request, without its changes."""
    instance = objects.Instance()
    for field in buried.obj_fields:
        if field not in _DROPPED and buried.obj_attr_is_set(field):
            setattr(instance, field, copy.deepcopy(getattr(buried, field)))
    instance.vm_state = vm_states.BUILDING
    instance.task_state = task_states.SCHEDULING
    instance.info_cache = objects.InstanceInfoCache(
        instance_uuid=buried.uuid, network_info=network_model.NetworkInfo())
    instance.security_groups = objects.SecurityGroupList()
    instance.obj_reset_changes(recursive=True)
    return instance


def new_bdms(
    context: nova_context.RequestContext, bdms: objects.BlockDeviceMappingList
) -> objects.BlockDeviceMappingList:
    """Return block device mappings that Nova creates rows from.

    Nova stores only the changed fields of an object, and an object that was
    loaded has none.
    """
    return objects.BlockDeviceMappingList(context, objects=[
        objects.BlockDeviceMapping(context, **{
            field: getattr(bdm, field) for field in bdm.fields
            if field not in _DROPPED_OF_BDM and bdm.obj_attr_is_set(field)})
        for bdm in bdms])


def new_tags(tags: objects.TagList, instance_uuid: str) -> objects.TagList:
    """Return tags that Nova creates rows from."""
    return objects.TagList(objects=[
        objects.Tag(resource_id=instance_uuid, tag=tag.tag) for tag in tags])
