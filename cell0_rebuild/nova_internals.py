# SPDX-License-Identifier: Apache-2.0

"""The functions of Nova that the package rests on, in one list.

A target that is patched, overridden or called is here with the signature it
was tested with, as the newest release has it; where other releases differ,
with the forms that it has there. Nova gives no guarantee for any of them; that
is why all are checked before one is patched. What the package does about a
difference is in :mod:`cell0_rebuild.nova_compat`.
"""

from __future__ import annotations

from cell0_rebuild import nova_internals_checks
from cell0_rebuild import nova_internals_waiting
from cell0_rebuild import patching

_API = 'nova.compute.api'
_CONDUCTOR = 'nova.conductor.manager'
_SPEC = 'nova.objects.request_spec'

# What Nova calls the build of a server on a compute, in its list of actions. A
# rebuild of a server that has a host is another.
BUILD_EVENT = 'compute__do_build_and_run_instance'

# Patched in nova-api.

SET_API_VERSION = patching.Target(
    'nova.api.openstack.wsgi', 'Request.set_api_version_request', 'self',
    'takes the added microversion for a request')

VERSIONS = patching.Item(
    'nova.api.openstack.compute.versions', 'VERSIONS', ('v2.1', 'version'),
    'shows the added microversion as the maximum')

REBUILD_ACTION = patching.Target(
    'nova.api.openstack.compute.servers', 'ServersController._rebuild',
    'self, req, id, body',
    'tells the rebuild which microversion was asked for; makes imageRef '
    'optional under the added one',
    others=(patching.Form(
        '26 to 32', name='ServersController._action_rebuild'),))

REBUILD = patching.Target(
    _API, 'API.rebuild',
    'self, context, instance, image_href, admin_password, '
    'files_to_inject=None, reimage_boot_volume=False, **kwargs',
    'rebuilds a server that is buried in cell0')

DELETE = patching.Target(
    _API, 'API._delete',
    'self, context, instance, delete_type, cb, **instance_attrs',
    'deletes a buried server also if a rebuild has overtaken the delete')

DELETE_WHILE_BOOTING = patching.Target(
    _API, 'API._delete_while_booting', 'self, context, instance',
    'removes the hidden row in cell0 of a server that is deleted on its way')

SAVE_BUILD_REQUEST = patching.Target(
    'nova.objects.build_request', 'BuildRequest._save_in_db',
    'self, context, req_id, updates',
    'lets an update wait for the hand-over of a server on its way')

GET_INSTANCES = patching.Target(
    'nova.api.openstack.compute.server_external_events',
    'ServerExternalEventsController._get_instances_all_cells',
    'self, context, instance_uuids, instance_mappings',
    'knows a server that is on its way, and so in no cell')

# Patched in nova-conductor.

SERVICE_START = patching.Target(
    'nova.service', 'Service.start', 'self',
    'starts the RPC server of the rebuild')

SERVICE_STOP = patching.Target(
    'nova.service', 'Service.stop', 'self',
    'stops the RPC server of the rebuild')

SCHEDULE_AND_BUILD = patching.Target(
    _CONDUCTOR, 'ComputeTaskManager.schedule_and_build_instances',
    'self, context, build_requests, request_specs, image, admin_password, '
    'injected_files, requested_networks, block_device_mapping, tags=None',
    'knows what a burial must keep; builds a rebuilt server')

BURY_IN_CELL0 = patching.Target(
    _CONDUCTOR, 'ComputeTaskManager._bury_in_cell0',
    'self, context, request_spec, exc, build_requests=None, instances=None, '
    'block_device_mapping=None, tags=None',
    'knows who is buried; overridden for a rebuild that fails')

SET_VM_STATE = patching.Target(
    _CONDUCTOR, 'ComputeTaskManager._set_vm_state_and_notify',
    'self, context, instance_uuid, method, updates, ex, request_spec',
    'shows who waits as BUILD; called: shows ERROR and the fault')

BIND_ACCELERATORS = patching.Target(
    _CONDUCTOR, 'ComputeTaskManager._create_and_bind_arq_for_instance',
    'self, context, instance, hostname, request_spec, '
    'requested_networks=None',
    'knows whose accelerators failed; extended for a rebuild')

CLEAN_UP = patching.Target(
    _CONDUCTOR, 'ComputeTaskManager._cleanup_build_artifacts',
    'self, context, exc, instances, build_requests, request_specs, '
    'block_device_mappings, tags, cell_mapping_cache',
    'buries who was not sent to a compute; overridden: a rebuilt server goes '
    'back to cell0')

POPULATE_RETRY = patching.Target(
    'nova.scheduler.utils', 'populate_retry',
    'filter_properties, instance_uuid',
    'called: may a compute have another host tried?')

MAPPING_DESTROY = patching.Target(
    'nova.objects.instance_mapping', 'InstanceMapping.destroy', 'self',
    'keeps the mapping of a server whose rebuild has become stale')

# Replaced by registration, in nova-api, nova-conductor and nova-manage.

REQUEST_SPEC = (
    patching.Target(
        _SPEC, 'RequestSpec._from_db_object', 'context, spec, db_spec',
        'overridden: reads what is retained'),
    patching.Target(
        _SPEC, 'RequestSpec._get_update_primitives', 'self',
        'extended: tells a save what the object was read from'),
    patching.Target(
        _SPEC, 'RequestSpec._save_in_db', 'context, instance_uuid, updates',
        'overridden: carries over what is retained'),
)

# Overridden or called by the build of a rebuilt server.

BUILD_STEPS = (
    patching.Target(
        _CONDUCTOR, 'ComputeTaskManager._schedule_instances',
        'self, context, request_spec, instance_uuids=None, '
        'return_alternates=False',
        'extended: a stale rebuild ends here'),
    patching.Target(
        _CONDUCTOR, 'ComputeTaskManager._create_block_device_mapping',
        'self, cell, flavor, instance_uuid, block_device_mapping',
        'extended: a stale rebuild overwrites nothing'),
    patching.Target(
        _CONDUCTOR, 'ComputeTaskManager._create_tags',
        'self, context, instance_uuid, tags',
        'extended: a stale rebuild overwrites nothing'),
    patching.Target(
        _CONDUCTOR, 'ComputeTaskManager._map_instance_to_cell',
        'context, instance, cell',
        'overridden: the hand-over maps the server'),
    patching.Target(
        _CONDUCTOR, 'ComputeTaskManager._delete_build_request',
        'self, context, build_request, instance, cell, instance_bdms, '
        'instance_tags',
        'extended: the hand-over'),
    patching.Target(
        _CONDUCTOR, 'ComputeTaskManager._create_instance_action_for_cell0',
        'self, context, instance, exc',
        'called: records the failed rebuild'),
)

# Called to move a server, in nova-api and nova-conductor and by
# cell0-rebuild-manage.

MOVES = (
    patching.Target(
        'nova.context', 'set_target_cell', 'context, cell_mapping',
        'called: two cells are worked in side by side'),
    patching.Target(
        'nova.context', 'load_cells', '',
        'called: cell0 is one of the CELLS that it keeps'),
    patching.Target(
        'nova.objects.build_request', 'BuildRequest._from_db_object',
        'context, req, db_req', 'called: reads a locked row'),
    patching.Target(
        'nova.db.main.api', 'instance_destroy',
        'context, instance_uuid, constraint=None, hard_delete=False',
        'called: deletes the row in cell0'),
    patching.Target(
        'nova.db.main.api', 'constraint', '**conditions',
        'called: only a row without a host is deleted'),
    patching.Target(
        'nova.db.main.api', 'equal_any', '*values',
        'called: what the host of a row has to be, so that it is deleted'),
    patching.Target(
        'nova.objects.ec2', 'get_int_id_from_instance_uuid',
        'context, instance_uuid',
        'what it has remembered in its _CACHE is overwritten: the ID in '
        'another cell'),
)

# Called for a server that was deleted in cell0 while it was handed over, in
# nova-conductor and by cell0-rebuild-manage.

DELETION = patching.Target(
    _API, 'API.delete', 'self, context, instance',
    'called: completes a delete that the hand-over has met')

# Called for what a rebuild has claimed in Placement and bound in Cyborg.

CLAIMS = (
    patching.Target(
        'nova.accelerator.cyborg', 'get_client', 'context',
        'called: the client of Cyborg'),
    patching.Target(
        'nova.accelerator.cyborg', '_CyborgClient.delete_arqs_by_uuid',
        'self, arq_uuids',
        'called: frees the accelerators that a build has left'),
    patching.Target(
        'nova.accelerator.cyborg', '_CyborgClient.get_arqs_for_instance',
        'self, instance_uuid, only_resolved=False',
        'called: finds the accelerators that an earlier build has left'),
    patching.Target(
        'nova.scheduler.client.report',
        'SchedulerReportClient.remove_provider_tree_from_instance_allocation',
        'self, context, consumer_uuid, root_rp_uuid',
        'called: releases the claim of a stale rebuild'),
)

# Called for what a buried server has in Placement, in nova-api and
# nova-conductor and by cell0-rebuild-manage.

ALLOCATIONS = (
    patching.Target(
        'nova.scheduler.client.report', 'report_client_singleton', '',
        'called: the client of Placement'),
    patching.Target(
        'nova.scheduler.client.report',
        'SchedulerReportClient.get_allocs_for_consumer',
        'self, context, consumer', 'called: finds leftovers'),
)

# Called to delete it, in nova-conductor and by cell0-rebuild-manage.

LEFTOVERS = (
    patching.Target(
        'nova.scheduler.client.report',
        'SchedulerReportClient.put_allocations',
        'self, context, consumer_uuid, payload',
        'called: deletes leftovers, unless they have changed'),
)

# Called to write an image to a root volume.

REIMAGE = (
    patching.Target(
        'nova.volume.cinder', 'is_microversion_supported',
        'context, microversion', 'called: can this Cinder do it?'),
    patching.Target(
        'nova.volume.cinder', 'API.reimage_volume',
        'self, context, volume_id, image_id, reimage_reserved=False',
        'called: has Cinder write the image'),
)

# Called for what a server asks the scheduler for, in nova-api and by
# cell0-rebuild-manage.

DEMANDS = (
    patching.Target(
        'nova.network.neutron', 'API.create_resource_requests',
        'self, context, requested_networks, pci_requests=None, '
        'affinity_policy=None', 'called: what ports ask for'),
    patching.Target(
        'nova.pci.request', 'get_pci_requests_from_flavor',
        'flavor, affinity_policy=None', 'called: what the flavor asks for'),
    patching.Target(
        'nova.virt.hardware', 'get_pci_numa_policy_constraint',
        'flavor, image_meta',
        'called: how near to its PCI devices has a server to run?'),
    patching.Target(
        'nova.accelerator.cyborg', 'get_device_profile_request_groups',
        'context, dp_name, owner=None', 'called: what a device asks for'),
)

# Called by cell0-rebuild-manage.

RECOVERY = (
    patching.Target(
        'nova.compute.utils', 'add_instance_fault_from_exc',
        'context, instance, fault, exc_info=None, fault_message=None',
        'called: tells the owner of a mended server what to do'),
)

# Called by cell0-rebuild-manage for a server that failed on a compute.

FENCE = (
    patching.Target(
        'nova.compute.rpcapi', 'ComputeAPI._ver', 'self, ctxt, old',
        'called: the version of a message'),
    patching.Target(
        'nova.compute.manager', 'ComputeManager.external_instance_event',
        'self, context, instances, events',
        'called by a message: waits until a build is over'),
    patching.Target(
        'nova.compute.manager', 'ComputeManager.power_update',
        'self, context, instance, target_power_state',
        'called by that: waits for the lock of a build'),
    patching.Target(
        'nova.compute.rpcapi', 'ComputeAPI.get_console_output',
        'self, ctxt, instance, tail_length',
        'sent to a host: tells whether there is a guest'),
)

# Modules of their own have what would be too long here.

CHECKS = nova_internals_checks.CHECKS
COMMANDS = nova_internals_waiting.COMMANDS
PROBES = nova_internals_waiting.PROBES
SHARES = nova_internals_waiting.SHARES
WAITING = nova_internals_waiting.WAITING
