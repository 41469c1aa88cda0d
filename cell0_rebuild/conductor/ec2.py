# SPDX-License-Identifier: Apache-2.0

"""The EC2 ID of a server that moves between cells.

Each cell counts its own IDs. Nova caches the ID for a week, by the UUID of the
server alone. A rebuilt server would have the ID of another one.
"""

from __future__ import annotations

from nova.objects import ec2


def forget_id(instance_uuid: str) -> None:
    """Make Nova look the EC2 ID up the next time."""
    if ec2._CACHE is not None:
        # Not delete: another thread that sets an ID looks at all that it saw.
        ec2._CACHE.set(
            f'{ec2.get_int_id_from_instance_uuid.__name__}:{instance_uuid}',
            None)
