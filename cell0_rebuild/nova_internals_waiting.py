# SPDX-License-Identifier: Apache-2.0

"""A part of :mod:`cell0_rebuild.nova_internals`: that of servers that wait.

Use it from there, where all of the list is.
"""

from __future__ import annotations

from cell0_rebuild import patching

_API = 'nova.compute.api'

# Called at the start of cell0-rebuild-manage and cell0-rebuild-wait.

COMMANDS = (
    patching.Target(
        'nova.config', 'parse_args',
        'argv, default_config_files=None, configure_db=True, init_rpc=True, '
        'prog=None', 'called: reads nova.conf',
        others=(patching.Form(
            'older', signature='argv, default_config_files=None, '
            'configure_db=True, init_rpc=True'),)),
    patching.Target(
        'nova.objects', 'register_all', '',
        'called: Nova\'s objects are found by their names'),
    patching.Target(
        'nova.rpc', 'init', 'conf', 'called: notifications go nowhere'),
)

# Called by cell0-rebuild-manage to tell why a server finds no host.

PROBES = (
    patching.Target(
        'nova.scheduler.request_filter', 'process_reqspec',
        'ctxt, request_spec', 'called: what the scheduler asks for, too'),
    patching.Target(
        'nova.scheduler.utils', 'resources_from_request_spec',
        'ctxt, spec_obj, host_manager, enable_pinning_translate=True',
        'called: what Placement is asked for'),
    patching.Target(
        'nova.scheduler.utils', 'ResourceRequest.to_querystring', 'self',
        'called: what Placement is asked for, as a query'),
    patching.Target(
        'nova.scheduler.host_manager', 'HostManager.refresh_cells_caches',
        'self', 'called: finds the host that was asked for'),
    patching.Target(
        'nova.scheduler.host_manager',
        'HostManager.get_compute_nodes_by_host_or_node',
        'self, ctxt, host, node, cell=None',
        'called by Nova: finds the host that was asked for, in one cell'),
    patching.Target(
        'nova.scheduler.client.report', 'SchedulerReportClient.get',
        'self, url, version=None, global_request_id=None',
        'called: asks Placement for room'),
)

# Called by cell0-rebuild-manage to tell who waits.

SHARES = (
    patching.Target(
        'nova.quota', 'QuotaEngine.get_project_quotas',
        'self, context, project_id, quota_class=None, usages=True, '
        'remains=False', 'called: the limits of a project'),
    patching.Target(
        'nova.scheduler.client.report',
        'SchedulerReportClient.get_usages_counts_for_quota',
        'self, context, project_id, user_id=None',
        'called: what a project uses'),
)

# Called by cell0-rebuild-wait, and by the commands about servers that wait.

WAITING = (
    patching.Target(
        _API, 'API.__init__',
        'self, image_api=None, network_api=None, volume_api=None',
        'called: asks Cinder for the image of a server'),
    patching.Target(
        'nova.context', 'get_admin_context', "read_deleted='no'",
        'called: all servers are read'),
    patching.Target(
        'nova.db.main.api', 'pick_context_manager_reader', 'f',
        'called: reads the database of a cell'),
    patching.Target(
        'nova.db.main.api', 'pick_context_manager_writer', 'f',
        'called: tells owners, in cell0, why a server waits'),
    patching.Target(
        'nova.network.neutron', 'API.__init__', 'self',
        'called: what ports ask for'),
    patching.Target(
        'nova.objects.block_device',
        'BlockDeviceMappingList.get_by_instance_uuid',
        'cls, context, instance_uuid, use_slave=False',
        'called: which image has a server?'),
    patching.Target(
        'nova.objects.instance', 'Instance.get_by_uuid',
        'cls, context, uuid, expected_attrs=None, use_slave=False',
        'called: which image has a server, and what became of it?'),
    patching.Target(
        'nova.objects.instance_action', 'InstanceAction.create', 'self',
        'called: tells the owner why a server waits'),
    patching.Target(
        'nova.objects.instance_fault', 'InstanceFault.create', 'self',
        'called: tells the owner that the time is over'),
    patching.Target(
        'nova.objects.instance_mapping',
        'InstanceMapping.get_by_instance_uuid', 'cls, context, instance_uuid',
        'called: in which cell has a server landed?'),
)
