# SPDX-License-Identifier: Apache-2.0

"""The table of doc/source/reference/checks.rst, and the cases behind it.

``python -m tests.functional.api.checks_table`` prints the table.
"""

import typing

from tests.functional.support import listed

_AROUND = 'test_create_checks.'
_NETWORKS = 'test_networks.NetworksTest.test_'
_IMAGE = 'test_parameters_image.RefusedAsStockTest.test_'
_VOLUMES = 'test_volumes_refusals.VanishedTest.test_'
_QUOTA = '.test_below_what_it_takes_it_is_403_and_nothing_changes'
_OLD = '.test_computes_that_are_too_old_for_'
_SAME = 'test_comparison.GivenTest.test_'


class Row(typing.NamedTuple):
    """What a create checks, and what a rebuild from cell0 does about it.

    :ivar what: is checked.
    :ivar create: the codes of a create that is refused for it.
    :ivar rebuild: those of a rebuild; none if that does not ask again.
    :ivar note: all that is to be said beside that.
    :ivar names: of what does it in Nova, as ``creating`` has them.
    :ivar cases: the tests that prove it.
    """

    what: str
    create: tuple
    rebuild: tuple
    note: str
    names: tuple
    cases: tuple = ()


ASKED = (
    Row('Image', (400, 403), (400, 403), 'That it is there and active, that '
        'the flavor has what it needs, and that its properties agree with '
        'the flavor. 403 is for a flavor without a disk, which not everybody '
        'may use.',
        ('API._get_image', 'API._checks_for_create_and_rebuild',
         'API._get_image_meta_obj: InvalidRequest',
         'hardware.numa_get_constraints',
         'block_device.get_bdm_image_metadata'),
        ('test_parameters_image.SameImageTest.'
         'test_an_image_that_is_gone_meanwhile_is_400',
         _IMAGE + 'an_image_that_is_not_active_is_400',
         _IMAGE + 'an_image_that_needs_more_ram_is_400',
         _IMAGE + 'an_image_that_needs_more_disk_is_400',
         _IMAGE + 'an_image_that_is_larger_than_the_disk_is_400',
         'test_parameters_image.ForbiddenByFlavorTest.'
         'test_an_image_that_overrides_the_flavors_topology_is_400',
         _AROUND + 'ImageTest.'
         'test_a_flavor_without_a_disk_is_403_as_for_a_create')),
    Row('Kernel and ramdisk of the image', (400,), (400,), '',
        ('API._handle_kernel_and_ramdisk',),
        (_AROUND + 'ImageTest.'
         'test_a_kernel_that_is_gone_is_400_as_for_a_create',
         _AROUND + 'ImageTest.'
         'test_a_ramdisk_that_is_gone_is_400_as_for_a_create')),
    Row('Disk configuration that the image forbids', (400,), (400,), '',
        ('API._check_auto_disk_config',
         'API._inherit_properties_from_image'),
        (_IMAGE + 'disk_config_that_the_image_forbids_is_400',)),
    Row('Encryption of local disks, by flavor and image', (400,), (400,), '',
        ('API._update_ephemeral_encryption_bdms',),
        (_AROUND + 'ImageTest.'
         'test_encryption_that_it_forbids_by_now_is_400_as_for_a_create',)),
    Row('Metadata within the quota', (403,), (403,), 'Of the rebuild itself. '
        'What was given at create is not counted again.', (),
        ('test_refusals.BadInputTest.test_too_much_metadata_is_403',)),
    Row('Personality files within the quota', (403,), (409,), 'A rebuild from '
        'cell0 injects no files of its own, up to microversion 2.56. Those '
        'of the create are not counted again.', (),
        ('test_rare_failures.RefusalTest.'
         'test_personality_files_of_the_rebuild_itself_are_409',)),
    Row('Networks, ports and fixed addresses', (400, 403, 409),
        (400, 403, 409), 'That they are there and free, and that the quota '
        'has room for the ports that Nova makes.',
        ('API._check_requested_networks',
         'API._create_instance: PortLimitExceeded'),
        (_NETWORKS + 'a_port_that_is_gone_is_400',
         _NETWORKS + 'a_network_that_is_gone_is_400',
         _NETWORKS + 'an_address_that_somebody_has_taken_is_400',
         _NETWORKS + 'a_port_that_somebody_else_took_is_409',
         'test_quota.PortQuotaTest.test_without_a_port_to_spare_it_is_403_'
         'and_nothing_changes')),
    Row('Security groups', (400, 409), (400,), 'That the server\'s project '
        'may still use them, unless the server has no network. They are '
        'stored by their ID, which no other can have.',
        ('security_group_api.validate_name',),
        (_AROUND + 'SecurityGroupTest.'
         'test_one_that_is_gone_is_400_as_for_a_create',
         _AROUND + 'SecurityGroupTest.'
         'test_one_that_is_gone_is_400_also_for_a_port_that_was_given',
         _AROUND + 'SecurityGroupTest.'
         'test_one_that_became_another_projects_is_400_for_an_operator')),
    Row('What ports ask for: bandwidth, devices', (400,), (400,), '',
        ('self.network_api.create_resource_requests',),
        ('test_requests_qos.QosTest.test_a_port_that_is_gone_is_400',
         'test_requests_accelerators.PortAcceleratorTest.'
         'test_a_profile_that_is_gone_is_400_as_for_a_create')),
    Row('PCI aliases of the flavor', (400,), (400,), '',
        ('pci_request.get_pci_requests_from_flavor',
         'hardware.get_pci_numa_policy_constraint'),
        ('test_requests_pci.PciInPlacementTest.'
         'test_an_alias_that_is_gone_is_400_as_for_a_create',)),
    Row('Device profile of the flavor', (400,), (400,), '',
        ('cyborg.get_device_profile_request_groups',),
        ('test_requests_accelerators.FlavorAcceleratorTest.'
         'test_a_profile_that_is_gone_is_400_as_for_a_create',)),
    Row('Computes that are new enough', (400, 409), (400, 409),
        '409 is for mixed CPUs.',
        ('API._check_support_vnic_accelerator',
         'API._check_support_vnic_remote_managed',
         'API._check_compute_service_for_mixed_instance',
         'API._validate_and_build_base_options: '
         'ExtendedResourceRequestOldCompute',
         'self.network_api.has_extended_resource_request_extension'),
        ('test_requests_accelerators.PortAcceleratorTest' + _OLD
         + 'it_are_400_as_for_a_create',
         'test_requests_pci.SriovTest' + _OLD + 'it_are_400_as_for_a_create',
         'test_requests_qos.ExtendedQosTest' + _OLD
         + 'it_are_400_as_for_a_create',
         'test_requests_libvirt.NumaTest' + _OLD
         + 'mixed_are_409_as_for_a_create')),
    Row('Volumes', (400,), (400, 409), 'That they are there and still '
        'reserved for the server, and attached to no other unless many may '
        'have them. 409 if one is in a status in which it '
        'cannot be attached.',
        ('self.volume_api.get', 'self.volume_api.attachment_create',
         'compute_utils.check_attach_and_reserve_volume',
         'API._validate_bdm: InvalidBDMVolume',
         'API._validate_bdm: InvalidVolume'),
        (_VOLUMES + 'a_volume_that_is_gone_is_400',
         _VOLUMES + 'a_volume_that_another_server_has_by_now_is_400',
         _VOLUMES + 'a_volume_that_another_server_holds_as_well_is_400',
         _VOLUMES + 'a_volume_in_error_is_409')),
    Row('Volumes in the zone of the server', (400,), (400,), 'With '
        '``[cinder] cross_az_attach = False``. A server of any zone gets that '
        'of its volumes, as at create.',
        ('API._validate_vol_az_for_create',
         'self.volume_api.check_availability_zone'),
        (_AROUND + 'VolumeZoneTest.'
         'test_a_volume_in_another_zone_is_400_as_for_a_create',)),
    Row('Trusted certificates', (400,), (400,), 'That a server without an '
        'image needs none. The server keeps its own; those that the rebuild '
        'names are checked.',
        ('API._create_instance: CertificateValidationFailed',
         'API._retrieve_trusted_certs_object'),
        ('test_then_and_now.VolumesOnlyTest.'
         'test_certificates_that_every_image_needs_by_now_are_400',)),
    Row('Images, snapshots and types of volumes that are still to be made',
        (400,), (400,), '',
        ('API._validate_bdm: InvalidBDMImage',
         'API._validate_bdm: InvalidBDMSnapshot',
         'API._check_requested_volume_type: VolumeTypeNotFound',
         'self.volume_api.get_snapshot',
         'self.volume_api.get_all_volume_types'),
        (_VOLUMES + 'an_image_that_is_gone_is_400',
         _VOLUMES + 'a_snapshot_that_is_gone_is_400',
         _VOLUMES + 'a_volume_type_that_is_gone_is_400')),
    Row('Availability zone', (400,), (400,), 'That one of its computes is up '
        'and enabled. Who forces a host is not asked for its zone, as at '
        'create.',
        ('API.create: InvalidRequest',
         'availability_zones.get_availability_zones'),
        (_AROUND + 'ZoneTest.'
         'test_one_with_no_host_that_is_up_is_400_as_for_a_create',
         _AROUND + 'ZoneTest.'
         'test_one_that_is_gone_is_400_as_for_a_create')),
    Row('Host or node that was asked for', (400,), (400,), '``host`` and '
        '``hypervisor_hostname``.',
        ('API._validate_host_or_node',),
        (_AROUND + 'DestinationTest.'
         'test_a_host_that_is_gone_is_400_as_for_a_create',
         _AROUND + 'DestinationTest.'
         'test_a_node_that_is_gone_is_400_as_for_a_create',
         _AROUND + 'DestinationTest.'
         'test_a_host_and_its_node_that_are_gone_are_400_as_for_a_create')),
    Row('Quota of servers, cores and memory', (403,), (403,), 'Of the '
        'server\'s project and user. The server itself is counted already, '
        'where Nova counts it.',
        ('compute_utils.check_num_instances_quota',
         'placement_limits.enforce_num_instances_and_flavor',
         'placement_limits.enforce_num_instances_and_resources',
         'scheduler_utils.request_spec_for_limits'),
        ('test_quota.DatabaseQuotaTest' + _QUOTA,
         'test_quota.PlacementQuotaTest' + _QUOTA,
         'test_quota.UnifiedQuotaTest' + _QUOTA)),
)

NOT_ASKED = (
    Row('Flavor', (400,), (), 'The server keeps the one that it was created '
        'with, also if it was deleted or disabled since.',
        ('API._validate_and_build_base_options: FlavorNotFound',
         'flavors.get_flavor_by_flavor_id'),
        (_SAME + 'flavor_deleted_since',)),
    Row('Key pair', (400,), (), 'The public key is stored with the server. '
        'One that the rebuild names must be there: 400.',
        ('objects.KeyPair.get_by_name',),
        (_SAME + 'key_pair_deleted_since',
         _IMAGE + 'a_key_that_does_not_exist_is_400')),
    Row('Server group', (400, 403), (), 'The server has been a member, and '
        'counted as one, all the time. Nova schedules a server whose group '
        'was deleted without it, whatever the reason.',
        ('objects.InstanceGroup.get_by_uuid',
         'API._provision_instances: OverQuota',
         'API._provision_instances: OverQuota (2)',
         'objects.Quotas.check_deltas', 'local_limit.enforce_db_limit'),
        (_AROUND + 'GroupTest.'
         'test_a_server_group_that_is_gone_is_no_more_asked_for',)),
    Row('Zone of a forced host', (), (), 'A create adapts the zone, and '
        'refuses nothing. The server is buried again while its host is not '
        'there or in another zone.',
        ('objects.AggregateList.get_by_host',
         'API.parse_availability_zone: InvalidInput'),
        (_AROUND + 'ZoneTest.'
         'test_who_forces_a_host_is_not_asked_for_its_zone',)),
    Row('Policies of create', (403,), (), 'What the owner might ask for was '
        'decided then. A rebuild has a policy of its own.',
        ('context.can(create)', 'context.can(create:attach_network)',
         'context.can(create:attach_volume)',
         'context.can(create:forced_host)',
         'context.can(create:trusted_certs)',
         'context.can(REQUESTED_DESTINATION)')),
    Row('Microversions that bandwidth of ports and volumes of several servers '
        'need', (400,), (), 'The server was created with one.',
        ('API._validate_and_build_base_options: '
         'CreateWithPortResourceRequestOldVersion',
         'API._check_attach_and_reserve_volume: '
         'MultiattachNotSupportedOldMicroversion',
         'common.supports_multiattach_volume',
         'common.supports_port_resource_request')),
    Row('Block devices: order of boot, sizes, buses, number', (400,), (),
        'Stored as they were found good, with the flavor that they have to '
        'fit.',
        ('API._check_and_transform_bdm: InvalidRequest',
         'API._check_and_transform_bdm: InvalidRequest (2)',
         'block_device.BlockDeviceDict.from_api',
         'ServersController._process_bdms_for_create: HTTPBadRequest',
         'API._validate_bdm: InvalidBDM',
         'API._validate_bdm: InvalidBDM (2)',
         'API._validate_bdm: InvalidBDMBootSequence',
         'API._validate_bdm: InvalidBDMDiskBus',
         'API._validate_bdm: InvalidBDMEphemeralSize',
         'API._validate_bdm: InvalidBDMFormat',
         'API._validate_bdm: InvalidBDMLocalsLimit',
         'API._validate_bdm: InvalidBDMSwapSize')),
    Row('All else that the body of a create says by itself', (400,), (),
        'Such as user data, config drive and the number of servers. Stored as '
        'it was found good. The schema has checked what the rebuild says.',
        ('API._validate_and_build_base_options: InstanceUserDataMalformed',
         'base64utils.decode_as_bytes',
         'API._check_config_drive: ConfigDriveInvalidValue',
         'API._check_multiple_instances_with_neutron_ports: '
         'MultiplePortsNotApplicable',
         'API._check_multiple_instances_with_specified_ip: '
         'InvalidFixedIpAndMaxCountRequest',
         'API.create: AmbiguousHostnameForMultipleInstances',
         'ServersController.create: HTTPBadRequest',
         'ServersController._get_requested_networks: HTTPBadRequest',
         'ServersController._get_requested_networks: HTTPBadRequest (2)',
         'ServersController._image_from_req_data: HTTPBadRequest',
         'ServersController._process_hosts_for_create: HTTPBadRequest',
         'ServersController._validate_network_id: HTTPBadRequest')),
)

ALL = (*ASKED, *NOT_ASKED)

# What reads, makes or writes something, and refuses nothing.
NO_CHECKS = {
    'api_version_request.is_supported', 'block_device.BlockDeviceDict',
    'block_device.create_blank_bdm', 'block_device.from_legacy_mapping',
    'block_device.get_bdm_swap_list', 'block_device.get_root_bdm',
    'block_device.is_swap_or_ephemeral', 'block_device.mappings_prepend_dev',
    'block_device.new_format_is_ephemeral', 'block_device.prepend_dev',
    'block_device.properties_root_device_name', 'block_device.strip_dev',
    'block_device_obj.block_device_make_list_from_dicts',
    'common.get_id_from_href', 'common.normalize_name',
    'excutils.save_and_reraise_exception', 'helpers.translate_attributes',
    'limit_utils.use_unified_limits', 'network_model.NetworkInfo',
    'objects.BuildRequest', 'objects.Destination',
    'objects.ImageMeta.from_dict', 'objects.Instance',
    'objects.InstanceGroup._remove_members_in_db',
    'objects.InstanceGroup.add_members', 'objects.InstanceInfoCache',
    'objects.InstanceMapping', 'objects.KeyPairList', 'objects.NetworkRequest',
    'objects.NetworkRequestList', 'objects.RequestSpec.from_components',
    'objects.SecurityGroupList', 'objects.Tag', 'objects.TagList',
    'objects.service.get_minimum_version_all_cells',
    'scheduler_utils.build_filter_properties',
    'security_group_api.populate_security_groups', 'self._view_builder.create',
    'self.compute_task_api.schedule_and_build_instances',
    'self.key_manager.create_key', 'strutils.bool_from_string',
    'utils.generate_password', 'utils.generate_uid',
    'utils.get_system_metadata_from_image', 'utils.instance_sys_meta',
    'utils.sanitize_hostname', 'uuidutils.generate_uuid',
    'uuidutils.is_uuid_like', 'wsgi.ResponseObject',
}

# What only some releases have.
LACKED = {
    'API._check_attach_and_reserve_volume: '
    'MultiattachNotSupportedOldMicroversion',
    'compute_utils.check_attach_and_reserve_volume',
    'limit_utils.use_unified_limits',
    'placement_limits.enforce_num_instances_and_flavor',
    'placement_limits.enforce_num_instances_and_resources',
    'scheduler_utils.request_spec_for_limits',
    'self.volume_api.attachment_create',
    'self.volume_api.check_availability_zone',
}


def names():
    """Return the names that have a row, or check nothing."""
    return NO_CHECKS.union(*(row.names for row in ALL))


def table(rows):
    """Return a list-table."""
    return listed.table(
        '34 11 11 44', ('What is checked', 'Create', 'Rebuild', 'Notes'), (
            (row.what, _codes(row.create), _codes(row.rebuild), row.note)
            for row in rows))


def _codes(codes):
    return ', '.join(map(str, codes)) or '--'


def tables():
    """Return both tables as they are in the page."""
    return table(ASKED), table(NOT_ASKED)


if __name__ == '__main__':
    print(*tables(), sep='\n\n')
