# SPDX-License-Identifier: Apache-2.0

"""A part of :mod:`cell0_rebuild.nova_internals`: that of the checks.

Use it from there, where all of the list is.
"""

from __future__ import annotations

from cell0_rebuild import patching

_API = 'nova.compute.api'

# Called by the validation of a rebuild in nova-api.

NEUTRON_CLIENT = patching.Target(
    'nova.network.neutron', 'get_client', 'context, admin=False',
    'called: asks Neutron for security groups, and for ports that are left')

CHECKS = (
    patching.Target(
        _API, 'check_instance_lock', 'function',
        'called: a locked server is refused, as by Nova'),
    patching.Target(
        _API, 'API.get',
        'self, context, instance_id, expected_attrs=None, '
        'cell_down_support=False', 'called: where is the server now?'),
    patching.Target(
        _API, 'API._get_image', 'self, context, image_href',
        'called: reads the image to build from'),
    patching.Target(
        _API, 'API._check_auto_disk_config',
        'self, instance=None, image=None, auto_disk_config=None',
        'called: may the image have its disk resized?'),
    patching.Target(
        _API, 'API._check_image_arch', 'self, image=None',
        'called: is the architecture of the image known?'),
    patching.Target(
        _API, 'API._checks_for_create_and_rebuild',
        'self, context, image_id, image, flavor, metadata, files_to_inject, '
        'root_bdm, min_comp_ver, validate_numa=True',
        'called: metadata, files, image and flavor as for a create',
        others=(patching.Form(
            '26 to 30', signature='self, context, image_id, image, flavor, '
            'metadata, files_to_inject, root_bdm, validate_numa=True'),)),
    patching.Target(
        _API, 'API._handle_kernel_and_ramdisk',
        'self, context, kernel_id, ramdisk_id, image',
        'called: are the kernel and the ramdisk there?'),
    patching.Target(
        _API, 'API._inherit_properties_from_image',
        'self, image, auto_disk_config',
        'called: what the instance takes from its image'),
    patching.Target(
        _API, 'API._retrieve_trusted_certs_object',
        'context, trusted_certs, rebuild=False',
        'called: are the trusted certificates allowed?'),
    patching.Target(
        _API, 'API._check_requested_networks',
        'self, context, requested_networks, max_count',
        'called: are the networks and ports there and free?'),
    patching.Target(
        _API, 'API._validate_host_or_node',
        'self, context, host, hypervisor_hostname',
        'called: is the host that was asked for there?'),
    patching.Target(
        _API, 'API._validate_vol_az_for_create', 'instance_az, volumes',
        'called: are the volumes in the zone of the server?'),
    patching.Target(
        _API, 'API._update_ephemeral_encryption_bdms',
        'self, flavor, image_meta_dict, block_device_mapping',
        'called: the encryption that the image asks for'),
    patching.Target(
        'nova.availability_zones', 'get_availability_zones',
        'context, hostapi, get_only_available=False, with_hosts=False, '
        'services=None',
        'called: is the zone that was asked for there?'),
    NEUTRON_CLIENT,
    patching.Target(
        'nova.network.neutron', 'API._clean_security_groups',
        'self, security_groups', 'called: leaves out the default group'),
    patching.Target(
        'nova.network.neutron', 'API._process_security_groups',
        'self, instance, neutron, security_groups',
        'called: are the security groups there?'),
    patching.Target(
        'nova.utils', 'get_system_metadata_from_image',
        'image_meta, flavor=None',
        'called: what of the image is stored with the server'),
    patching.Target(
        'nova.utils', 'get_image_from_system_metadata', 'system_meta',
        'called: the image as it was stored with the server'),
    patching.Target(
        _API, 'API._check_support_vnic_accelerator',
        'self, context, requested_networks, min_comp_ver',
        'called: can computes have the accelerator of a port?',
        others=(patching.Form(
            '26 to 30', signature='self, context, requested_networks'),)),
    patching.Target(
        _API, 'API._check_support_vnic_remote_managed',
        'self, context, requested_networks',
        'called: can computes have a remote-managed port?'),
    patching.Target(
        _API, 'API._check_compute_service_for_mixed_instance',
        'numa_topology, min_comp_ver',
        'called: can computes mix pinned and shared CPUs?',
        others=(patching.Form('26 to 30', signature='numa_topology'),)),
    patching.Target(
        'nova.network.neutron',
        'API.has_extended_resource_request_extension',
        'self, context=None, client=None',
        'called: how does Neutron say what a port asks for?'),
    patching.Target(
        'nova.limit.utils', 'use_unified_limits', '',
        'called: who keeps the quota, Nova or Keystone?'),
    patching.Target(
        'nova.limit.placement', 'enforce_num_instances_and_resources',
        'context, project_id, request_spec, min_count, max_count, '
        'enforcer=None, delta_updates=None',
        'called: the quota, if Keystone keeps it',
        others=(
            patching.Form(
                '27.2 to 33', 'enforce_num_instances_and_flavor',
                'context, project_id, flavor, is_bfvm, min_count, max_count, '
                'enforcer=None, delta_updates=None'),
            patching.Form(
                '26 to 27.1', 'enforce_num_instances_and_flavor',
                'context, project_id, flavor, is_bfvm, min_count, max_count, '
                'enforcer=None'))),
    patching.Target(
        'nova.limit.placement', '_get_deltas_by_flavor',
        'flavor, is_bfv, count',
        'called by 26 to 27.1: what a server counts', absent='34'),
    patching.Target(
        'nova.limit.placement', '_get_enforcer', 'context, project_id',
        'called: asks Keystone for the limits'),
    patching.Target(
        'nova.objects.service', 'get_minimum_version_all_cells',
        'context, binaries, require_all=False',
        'called: what can the oldest compute do?'),
    patching.Target(
        'nova.block_device', 'get_bdm_image_metadata',
        'context, image_api, volume_api, block_device_mapping, '
        'legacy_bdm=True',
        'called: the image properties of a root volume'),
    patching.Target(
        'nova.volume.cinder', 'API.get',
        'self, context, volume_id, microversion=None',
        'called: is the volume there, and in what state?'),
    patching.Target(
        'nova.volume.cinder', 'API.attachment_get',
        'self, context, attachment_id',
        'called: is the attachment of a volume still there?'),
    patching.Target(
        'nova.volume.cinder', 'API.get_snapshot',
        'self, context, snapshot_id',
        'called: is the snapshot that a volume comes from there?'),
    patching.Target(
        'nova.volume.cinder', 'API.get_all_volume_types', 'self, context',
        'called: is the type of a new volume there?'),
    patching.Target(
        'nova.virt.hardware', 'get_ephemeral_encryption_constraint',
        'flavor, image_meta',
        'called: did the former image ask for encrypted disks?'),
    patching.Target(
        'nova.virt.hardware', 'get_vtpm_constraint', 'flavor, image_meta',
        'called: does the server get a vTPM?'),
    patching.Target(
        'nova.virt.hardware', 'get_tpm_secret_security_constraint', 'flavor',
        'called: in whose name is the secret of its vTPM made?',
        absent='26 to 32'),
    patching.Target(
        'nova.virt.hardware', 'numa_get_constraints', 'flavor, image_meta',
        'called: the NUMA topology of the flavor with the new image'),
    patching.Target(
        'nova.quota', '_user_id_queued_for_delete_populated',
        'context, project_id=None',
        'called: does Nova count in Placement, or fall back?'),
    patching.Target(
        'nova.objects.quotas', 'Quotas.check_deltas',
        'cls, context, deltas, *count_args, **count_kwargs',
        'called: the quota, if Nova keeps it'),
    patching.Target(
        'nova.objects.quotas', 'Quotas.get_all_by_project_and_user',
        'cls, context, project_id, user_id',
        'called: has the user a quota of its own?'),
)
