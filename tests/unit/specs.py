# SPDX-License-Identifier: Apache-2.0

"""RequestSpecs in a real database."""

import re

from nova import objects
from oslo_utils.fixture import uuidsentinel



def some_networks():
    """Return networks that a server was created with."""
    return objects.NetworkRequestList(objects=[
        objects.NetworkRequest(
            network_id=uuidsentinel.network, address='192.0.2.7', tag='a tag'),
        objects.NetworkRequest(port_id=uuidsentinel.port),
    ])


# What an owner may have asked for; None is nothing in particular.
NETWORKS = {
    'some': some_networks,
    'empty': objects.NetworkRequestList,
    'none': lambda: None,
}


def plain(networks):
    """Return what networks say, without what has changed in them."""
    if networks is None:
        return None
    return [network.obj_to_primitive()['nova_object.data']
            for network in networks]


# It comes with the one statement that is not as Nova's own.
_UNLESS_RETAINED = re.compile(r' AND \(request_specs\.spec NOT LIKE [^\n]*\)$')


def without_condition(statement):
    """Return a statement without the condition that nothing is kept."""
    return _UNLESS_RETAINED.sub('', statement)
