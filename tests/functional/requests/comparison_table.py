# SPDX-License-Identifier: Apache-2.0


"""The table of doc/source/user/what-comes-back.rst, and the cases behind it.

``python -m tests.functional.requests.comparison_table`` prints the table.
"""

import typing

from tests.functional.support import listed

_GIVEN = 'test_comparison.GivenTest.test_'
_SHOWN = 'test_comparison.ShownTest.test_'
_CHANGED = 'test_comparison.ChangedTest.test_'
_SCHEDULING = 'test_comparison_scheduling.SchedulingTest.test_'
_NETWORK = 'test_comparison_devices.NetworkTest.test_'
_VOLUME = 'test_comparison_devices.VolumeTest.test_'


class Row(typing.NamedTuple):
    """What happens to a part of a create request.

    :ivar names: of parameters, as in the body of a create.
    :ivar kept: what a user wants to know first.
    :ivar note: all that is to be said beside that.
    :ivar cases: the tests that prove it.
    """

    names: tuple
    kept: str
    note: str
    cases: tuple


PARAMETERS = (
    Row(('name', 'description', 'hostname', 'metadata', 'tags', 'accessIPv4',
         'accessIPv6'), 'Yes', 'With what its owner changed while it was '
        'buried: all but metadata and tags can be changed then.',
        (_GIVEN + 'what_describes_it', _GIVEN + 'nothing_in_particular',
         _CHANGED + 'changed_name_description_and_hostname',
         _CHANGED + 'changed_name_alone')),
    Row(('imageRef',), 'Yes', 'The image must still exist if the root disk is '
        'made from it. The rebuild may name another one.',
        (_GIVEN + 'nothing_in_particular',
         _VOLUME + 'root_volume_beside_an_image',
         _VOLUME + 'image_that_brings_its_root_volume')),
    Row(('flavorRef',), 'Yes', 'Also if the flavor was deleted later.',
        (_GIVEN + 'flavor_deleted_since',)),
    Row(('key_name',), 'Yes', 'Also if the key pair was deleted later.',
        (_GIVEN + 'key_pair', _GIVEN + 'key_pair_deleted_since')),
    Row(('trusted_image_certificates',), 'Yes', '',
        (_GIVEN + 'trusted_image_certificates',)),
    Row(('config_drive',), 'Yes', '', (_GIVEN + 'config_drive',)),
    Row(('user_data',), 'Yes', '', (_GIVEN + 'user_data',)),
    Row(('personality',), 'Yes', 'Up to microversion 2.56. Stored while the '
        'server is buried, then forgotten, unless the operator of the cloud '
        'wants otherwise.', (_GIVEN + 'personality',)),
    Row(('OS-DCF:diskConfig',), 'Yes', '',
        (_GIVEN + 'disk_config_auto', _GIVEN + 'disk_config_manual')),
    Row(('adminPass',), 'No', 'Nova does not store it, and to store it would '
        'be worse than to lose it. The answer to the rebuild has a new one, '
        'or the rebuild names one.',
        (_GIVEN + 'password',)),
    Row(('availability_zone',), 'Yes', 'Also ``zone:host`` and '
        '``zone:host:node``. It can be unpinned while the server is buried.',
        (_SCHEDULING + 'availability_zone', _SCHEDULING + 'forced_host',
         _SCHEDULING + 'forced_host_and_node',
         _SCHEDULING + 'zone_unpinned')),
    Row(('host', 'hypervisor_hostname'), 'Yes', '',
        (_SCHEDULING + 'requested_host',
         _SCHEDULING + 'requested_hypervisor_hostname')),
    Row(('os:scheduler_hints', 'OS-SCH-HNT:scheduler_hints'), 'Yes',
        'Also hints that no filter of the cloud uses. Those that begin with '
        '``_nova`` are dropped, as a create of newer releases does.',
        (_SCHEDULING + 'hint_same_host', _SCHEDULING + 'hint_different_host',
         _SCHEDULING + 'hints_that_no_filter_knows',
         _SCHEDULING + 'left_to_itself_the_scheduler_takes_host2')),
    Row(('group (hint)',), 'Yes', 'The server has been a member all the time. '
        'The policy is applied to the members as they are now.',
        (_SCHEDULING + 'affinity_to_a_member_that_went_elsewhere',
         _SCHEDULING + 'anti_affinity_to_a_member_that_went_elsewhere')),
    Row(('networks',), 'Yes', 'Ports, networks, ``auto``, ``none``, fixed '
        'addresses, tags and the order. Ports that Nova makes are made at the '
        'rebuild; nothing was reserved before it.',
        (_NETWORK + 'port', _NETWORK + 'networks_auto',
         _NETWORK + 'networks_left_out', _NETWORK + 'nic_tags',
         _NETWORK + 'several_nics_in_order', _NETWORK + 'fixed_ip',
         _GIVEN + 'nothing_in_particular')),
    Row(('security_groups',), 'Yes', 'They cannot be changed while the server '
        'is buried: it has no port.',
        (_NETWORK + 'security_groups',
         _NETWORK + 'security_groups_cannot_be_changed_while_buried')),
    Row(('block_device_mapping', 'block_device_mapping_v2'), 'Yes',
        'Volumes stay reserved for the server. Volumes that Nova makes are '
        'made at the rebuild. A change of ``delete_on_termination`` while '
        'the server was buried is kept.',
        (_VOLUME + 'root_volume', _VOLUME + 'root_volume_from_an_image',
         _VOLUME + 'data_volume', _VOLUME + 'data_volume_in_the_old_form',
         _VOLUME + 'blank_volume_swap_and_ephemeral_disks',
         _VOLUME + 'changed_delete_on_termination')),
    Row(('min_count', 'max_count', 'return_reservation_id'), 'Yes',
        'Each server keeps its name, its reservation and its launch index, '
        'and is rebuilt by itself.',
        (_GIVEN + 'several_servers',
         _SHOWN + 'created_and_reservation_id')),
)

SHOWN = (
    Row(('id', 'created', 'locked'), 'Yes', '``created`` is the time of the '
        'first request.',
        (_SHOWN + 'created_and_reservation_id', _CHANGED + 'locked')),
    Row(('OS-EXT-SRV-ATTR:instance_name',), 'Depends', 'The template is the '
        'operator\'s. The default, ``instance-%08x``, has the number of the '
        'server in its cell, and so has the EC2 ID in the metadata. Each cell '
        'counts its servers, so both change. A template of ``%(uuid)s`` does '
        'not.',
        (_SHOWN + 'instance_name_from_the_integer_id',
         _SHOWN + 'instance_name_from_the_uuid')),
    Row(('updated',), 'No', 'It is the time of the build.',
        (_SHOWN + 'created_and_reservation_id',)),
    Row(('os-instance-actions',), 'Longer', 'The failed ``create``, and '
        'all that was done while the server was buried, come before the '
        '``rebuild``. Other servers have ``create`` alone.',
        (_GIVEN + 'nothing_in_particular', _CHANGED + 'locked')),
)

ALL = (*PARAMETERS, *SHOWN)


def table(title, rows):
    """Return a list-table."""
    return listed.table('40 10 50', (title, 'Kept', 'Notes'), (
        (', '.join(map(_literal, row.names)), row.kept, row.note)
        for row in rows))


def _literal(name):
    name, _space, remark = name.partition(' ')
    return f'``{name}`` {remark}'.rstrip()


def tables():
    """Return both tables as they are in the page."""
    return (table('Given at create', PARAMETERS),
            table('Shown, or done while buried', SHOWN))


if __name__ == '__main__':
    print(*tables(), sep='\n\n')
