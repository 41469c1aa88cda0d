# SPDX-License-Identifier: Apache-2.0

"""The table of doc/source/reference/values.rst, and the cases behind it.

``python -m tests.functional.api.values_table`` prints the table.
"""

import typing

from tests.functional.support import listed

ASKED, NOW, BOTH, NEW = 'asked', 'now', 'asked, if now', 'new'

_AROUND = 'test_create_checks.'
_GIVEN = 'test_comparison.GivenTest.test_'
_SHOWN = 'test_comparison.ShownTest.test_'
_CHANGED = 'test_comparison.ChangedTest.test_'
_NETS = 'test_networks.NetworksTest.test_'
_PLACE = 'test_comparison_scheduling.SchedulingTest.test_'
_NOW = 'test_then_and_now.'
_VOLUMES = 'test_volumes_refusals.VanishedTest.test_'


class Row(typing.NamedTuple):
    """A value that a rebuild reads from what is stored of a server.

    :ivar what: it is.
    :ivar counts: how it counts.
    :ivar why: so, and under what condition.
    :ivar fields: of Nova's objects that have it, as ``Object.field``.
    :ivar cases: the tests that show it.
    """

    what: str
    counts: str
    why: str
    fields: tuple
    cases: tuple


def _fields(**names):
    return tuple(f'{owner}.{name}' for owner, text in names.items()
                 for name in text.split())


ROWS = (
    Row('Owner, ID, reservation', ASKED, 'It is the same server.',
        _fields(Instance='uuid project_id user_id reservation_id launch_index',
                RequestSpec='id instance_uuid project_id user_id',
                BlockDeviceMapping='uuid instance_uuid'),
        (_SHOWN + 'created_and_reservation_id',)),
    Row('What describes it; a lock', ASKED, 'With what was changed since.',
        _fields(Instance='display_name display_description hostname metadata '
                'access_ip_v4 access_ip_v6 tags locked locked_by'),
        (_CHANGED + 'changed_name_description_and_hostname',
         _CHANGED + 'locked')),
    Row('Flavor', ASKED, 'Nova gives each server a copy, for good. The flavor '
        'may be changed, disabled or deleted.',
        _fields(Instance='flavor old_flavor new_flavor instance_type_id '
                'memory_mb vcpus root_gb ephemeral_gb', RequestSpec='flavor'),
        ('test_requests_libvirt.NumaTest.'
         'test_the_flavor_counts_as_it_was_at_create',
         _GIVEN + 'flavor_deleted_since')),
    Row('What PCI aliases and device profiles of the flavor mean', NOW,
        'Nova stores only a part of it.',
        _fields(Instance='pci_requests', RequestSpec='pci_requests '
                'requested_resources request_level_params'),
        ('test_requests_pci.PciInPlacementTest.'
         'test_what_the_alias_means_now_is_asked_for',
         'test_requests_accelerators.FlavorAcceleratorTest.'
         'test_what_the_profile_asks_for_now_is_asked_for')),
    Row('Image and its properties', NOW, 'A property that found no host may '
        'have been mended.',
        _fields(Instance='image_ref kernel_id ramdisk_id os_type architecture '
                'vm_mode system_metadata', RequestSpec='image'),
        ('test_requests_libvirt.NumaTest.'
         'test_the_same_image_counts_as_it_is_now',
         'test_parameters_image.SameImageTest.'
         'test_a_property_that_is_mended_in_the_image_has_effect')),
    Row('NUMA topology', NOW, 'Made of the flavor and the image.',
        _fields(Instance='numa_topology', RequestSpec='numa_topology'),
        ('test_requests_libvirt.NumaTest.'
         'test_another_image_may_bring_another_topology',)),
    Row('Encryption of local disks', NOW, 'The flavor and the image ask for '
        'it. A disk that the image brings encrypted stays so.',
        _fields(BlockDeviceMapping='encrypted encryption_format '
                'encryption_options encryption_secret_uuid'),
        ('test_parameters_image.EncryptionTest.'
         'test_an_image_that_asks_for_none_leaves_them_as_they_are',)),
    Row('Key of local disks', BOTH, 'A create makes it. Refused if there is '
        'none, and a create makes one now.',
        _fields(Instance='ephemeral_key_uuid'),
        (_NOW + 'DiskKeyTest.'
         'test_without_a_key_for_its_disks_by_now_it_is_409',
         _NOW + 'DiskKeyTest.'
         'test_with_its_key_it_is_built_whatever_is_asked_for_now')),
    Row('Disk configuration, config drive, user data', ASKED, 'The image may '
        'forbid the first by now.',
        _fields(Instance='auto_disk_config config_drive user_data'),
        (_GIVEN + 'disk_config_auto', _GIVEN + 'config_drive',
         _GIVEN + 'user_data')),
    Row('Key pair', ASKED, 'The public key is stored.',
        _fields(Instance='key_name key_data keypairs'),
        (_GIVEN + 'key_pair_deleted_since',)),
    Row('Trusted certificates', BOTH, 'Refused if the server has no image, '
        'and each image has to be validated now.',
        _fields(Instance='trusted_certs'),
        (_GIVEN + 'trusted_image_certificates',
         _NOW + 'VolumesOnlyTest.'
         'test_certificates_that_every_image_needs_by_now_are_400')),
    Row('Zone', BOTH, 'It must have a host that is up and enabled, and be '
        'that of the volumes if ``cross_az_attach`` is off now.',
        _fields(Instance='availability_zone', RequestSpec='availability_zone'),
        (_AROUND + 'ZoneTest.'
         'test_one_with_no_host_that_is_up_is_400_as_for_a_create',
         _AROUND + 'VolumeZoneTest.'
         'test_a_volume_in_another_zone_is_400_as_for_a_create')),
    Row('Host that was asked for, or forced', BOTH, 'The first must be there.',
        _fields(RequestSpec='requested_destination force_hosts force_nodes',
                Destination='host node cell aggregates forbidden_aggregates '
                'allow_cross_cell_move'),
        (_PLACE + 'requested_host', _PLACE + 'forced_host')),
    Row('Hints', BOTH, 'Without those that mean something to Nova alone, '
        'which a create takes no more.',
        _fields(RequestSpec='scheduler_hints'),
        (_PLACE + 'hints_that_no_filter_knows', _NOW + 'HintsTest.'
         'test_a_hint_of_novas_own_does_not_reach_the_scheduler')),
    Row('Server group', NOW, 'It has other members. One that was deleted '
        'holds no server that has a host, either.',
        _fields(RequestSpec='instance_group'),
        (_PLACE + 'affinity_to_a_member_that_went_elsewhere',
         _AROUND + 'GroupTest.'
         'test_a_server_group_that_is_gone_is_no_more_asked_for')),
    Row('Security groups', BOTH, 'By their IDs. The project must be allowed '
        'to use them.',
        _fields(RequestSpec='security_groups', Instance='security_groups'),
        (_AROUND + 'SecurityGroupTest.'
         'test_one_that_is_gone_is_400_as_for_a_create',)),
    Row('Networks, ports, addresses, tags', BOTH, 'They must be there, and '
        'free.',
        _fields(RequestSpec='requested_networks',
                NetworkRequest='network_id port_id address tag'),
        (_NETS + 'a_port_that_somebody_else_took_is_409',
         _NETS + 'an_address_that_somebody_has_taken_is_400')),
    Row('What ports need: bandwidth, devices', NOW, 'Nova stores only a part '
        'of it.',
        _fields(RequestSpec='network_metadata',
                NetworkRequest='pci_request_id device_profile arq_uuid'),
        ('test_requests_pci.SriovTest.'
         'test_a_port_that_has_become_an_ordinary_one_needs_no_device',
         'test_requests_qos.QosTest.'
         'test_what_the_port_asks_for_now_is_asked_for')),
    Row('Block devices', ASKED, 'Stored as they were found good. Another '
        'image changes them no more than Nova\'s rebuild does.',
        _fields(BlockDeviceMapping='source_type destination_type boot_index '
                'device_name device_type disk_bus guest_format no_device tag '
                'delete_on_termination image_id snapshot_id',
                Instance='root_device_name', RequestSpec='is_bfv'),
        ('test_comparison_devices.VolumeTest.'
         'test_blank_volume_swap_and_ephemeral_disks',)),
    Row('Volumes and their reservations', BOTH, 'They must be there, and no '
        'other server\'s.',
        _fields(BlockDeviceMapping='volume_id attachment_id connection_info'),
        (_VOLUMES + 'a_volume_that_another_server_holds_as_well_is_400',
         _VOLUMES + 'a_volume_that_somebody_reset_is_400')),
    Row('Size of a volume', NOW, 'One that is still to be made gets the size '
        'that was asked for.',
        _fields(BlockDeviceMapping='volume_size'),
        (_NOW + 'VolumesOnlyTest.'
         'test_a_volume_that_has_grown_takes_a_larger_image',)),
    Row('Type of a volume to come', BOTH, 'The type must be there. Without '
        'one, that of its first source counts.',
        _fields(BlockDeviceMapping='volume_type'),
        ('test_volume_types.RootTest.'
         'test_with_another_image_it_is_that_of_the_snapshot_still',
         _VOLUMES + 'a_volume_type_that_is_gone_is_400')),
    Row('Number of servers of the request', NEW, 'Each is rebuilt by itself.',
        _fields(RequestSpec='num_instances'), (_GIVEN + 'several_servers',)),
    Row('What a host or a scheduling has brought', NEW, 'It has no host, and '
        'is scheduled anew.',
        _fields(RequestSpec='limits retry ignore_hosts',
                Instance='host node compute_id launched_on launched_at '
                'terminated_at vm_state task_state power_state progress '
                'cleaned hidden cell_name ec2_ids fault services info_cache '
                'pci_devices migration_context vcpu_model device_metadata '
                'resources default_ephemeral_device default_swap_device '
                'disable_terminate shutdown_terminate id created_at '
                'updated_at deleted deleted_at',
                BlockDeviceMapping='id instance created_at updated_at '
                'deleted deleted_at'),
        (_GIVEN + 'nothing_in_particular',)),
)


def table():
    """Return the table as it is in the page."""
    return listed.table(
        '28 14 58', ('Value', 'Counts', 'Why'),
        ((row.what, row.counts, row.why) for row in ROWS))


if __name__ == '__main__':
    print(table())
