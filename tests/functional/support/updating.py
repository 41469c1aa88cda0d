# SPDX-License-Identifier: Apache-2.0

"""A PUT of all that the Nova which the tests run on lets a PUT change.

What that is, is read from the schemas that Nova checks the request with, so
that a property which is new in Nova is changed without a word here.
"""

import re

from nova.api.openstack.compute.schemas import servers
from nova.api.validation import validators
from nova import context as nova_context
from nova import exception
from nova import objects

# The first that a schema allows, and that the server does not have, is taken.
_VALUES = (None, 'updated', '192.0.2.7', '192.0.2.8', '2001:db8::7',
           '2001:db8::8', 'AUTO', 'MANUAL', True, False, 1)
# Nova lets it only be taken away.
PINNED = 'pinned_availability_zone'


def schemas():
    """Return {the first microversion that uses it: schema} of a PUT."""
    found = {}
    for name, schema in vars(servers).items():
        match = re.fullmatch(r'update(?:_v2(\d+))?', name)
        # There is no asking for 2.0 as there is for the others.
        if match and name != 'update_v20':
            found[f'2.{match[1] or 1}'] = (
                schema['properties']['server']['properties'])
    return found


def newest():
    """Return the microversion and the schema that came last."""
    return max(schemas().items(), key=lambda item: int(item[0][2:]))


def everything(server, schema=None):
    """Return a value for each property that is unlike what a server shows.

    :param server: as GET shows it under the newest microversion.
    """
    if schema is None:
        _, schema = newest()
    old = shown(server, schema)
    return {name: _unlike(old[name], schema[name]) for name in schema
            # An unpinned one stays so.
            if (name, old[name]) != (PINNED, None)}


def shown(server, names):
    """Return what GET shows of the properties of a PUT."""
    return {name: server[name if name in server else
                         f'OS-EXT-SRV-ATTR:{name}'] for name in names}


def pin(server_id):
    """Pin a server to a zone, as if a host there had been asked for."""
    spec = objects.RequestSpec.get_by_instance_uuid(
        nova_context.get_admin_context(), server_id)
    spec.availability_zone = 'nova'
    spec.save()


def _unlike(old, schema):
    for value in _VALUES:
        if value != old and _allows(schema, value):
            return value
    raise AssertionError(f'no value is known for {schema}')


def _allows(schema, value):
    try:
        validators._SchemaValidator(schema).validate(value)
    except exception.ValidationError:
        return False
    return True
