# SPDX-License-Identifier: Apache-2.0

"""Record a server, field by field, and compare it with another one."""

import datetime
import functools
import json
import re

import fixtures
from nova import context as nova_context
from nova.objects import base as objects_base

# What differs between a server that was rebuilt from cell0 and one that was
# scheduled at its first attempt, and is meant to, with the reason. A pattern
# matches the whole of what unexpected() says of a difference.
MEANT = (
    (r"/\d+/events: \[\['create', \['Success'\]\]\] became "
     r"\[\['create', \['Error'\]\], \['rebuild', \['Success'\]\]\]",
     'the history tells what happened'),
    (r'/\d+/rows/api/request_specs/\d+/updated_at: None became .<time>.',
     'what was kept has been removed from the row'),
    (r'/\d+/allocations/allocations/[^/]+/generation: \d+ became \d+',
     'counts the changes of the host'),
    (r'/\d+/built/instance/updated_at: None became .<time>.',
     'is the age of the attempt until the compute saves the server'),
    (r'/\d+/built/instance/ec2_ids/instance_id: .*',
     'is counted in the cell; recorded() compares it with its row'),
    (r'/\d+/(scheduled/spec_obj|built/request_spec|built/requested_networks|'
     r'built/filter_properties/requested_destination)'
     r'/(.*/)?\(changed\): .*',
     'the objects were loaded, not made, and nobody saves them'),
)

# Objects with an integer ID that belongs to one server.
_NUMBERED = {'Instance', 'RequestSpec', 'BlockDeviceMapping'}

_NAME = 'nova_object.name'
_TIME = re.compile(
    r'\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(\.\d+)?(Z|\+00:00)?')
_REQUEST = re.compile(r'req-[0-9a-f-]{36}')


class Recorder(fixtures.Fixture):
    """Records the arguments of a method, by the UUIDs of the servers.

    :ivar calls: ``{server ID: arguments}``, of the last call.
    """

    def __init__(self, cls, method, servers):
        self._cls = cls
        self._method = method
        self._servers = servers

    def _setUp(self):
        self.calls = {}
        original = getattr(self._cls, self._method)

        def recorded(*args, **kwargs):
            [context] = args[1:]
            arguments = plain({'context': context, **kwargs})
            for uuid in self._servers(kwargs):
                self.calls[uuid] = arguments
            return original(*args, **kwargs)
        functools.update_wrapper(recorded, original)
        self.useFixture(fixtures.MonkeyPatch(
            f'{self._cls.__module__}.{self._cls.__name__}.{self._method}',
            recorded))


def plain(value):
    """Return an argument as JSON could carry it, nothing left out."""
    if isinstance(value, nova_context.RequestContext):
        return {name: plain(found) for name, found in value.to_dict().items()}
    if isinstance(value, objects_base.ObjectListBase):
        return [plain(item) for item in value.objects]
    if isinstance(value, objects_base.NovaObject):
        found = {name: plain(getattr(value, name)) for name in value.fields
                 if value.obj_attr_is_set(name)}
        return {_NAME: value.obj_name(), **found,
                '(changed)': sorted(value.obj_what_changed())}
    if isinstance(value, dict):
        return {str(name): plain(found) for name, found in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if isinstance(value, datetime.datetime):
        return value.isoformat()
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    return repr(value)


def normalised(value, own):
    """Replace what differs between any two servers.

    :param value: anything that :func:`plain` returns.
    :param own: ``{ID that one server alone has: placeholder}``.
    """
    if isinstance(value, dict):
        found = {normalised(name, own): normalised(item, own)
                 for name, item in value.items()}
        data = found.get('nova_object.data', found)
        if found.get(_NAME) in _NUMBERED and data.get('id') is not None:
            data['id'] = '<id>'
        return found
    if isinstance(value, list):
        return [normalised(item, own) for item in value]
    if not isinstance(value, str):
        return value
    if value[:1] in ('{', '['):
        try:
            return normalised(json.loads(value), own)
        except ValueError:
            pass
    for identity, placeholder in own.items():
        value = value.replace(identity, placeholder)
    return _REQUEST.sub('<request>', _TIME.sub('<time>', value))


def differences(expected, found, path=''):
    """Return ``{path: (expected, found)}`` of all that differs."""
    if type(expected) is not type(found):
        return {path: (expected, found)}
    if isinstance(expected, dict):
        items = {name: (expected.get(name, '(absent)'),
                        found.get(name, '(absent)'))
                 for name in {**expected, **found}}
    elif isinstance(expected, list) and len(expected) == len(found):
        items = dict(enumerate(zip(expected, found)))
    else:
        return {} if expected == found else {path: (expected, found)}
    differing = {}
    for name, (one, other) in items.items():
        differing.update(differences(one, other, f'{path}/{name}'))
    return differing


def unexpected(expected, found, meant):
    """Return the differences that are not meant, as readable lines."""
    lines = (f'{path}: {one!r} became {other!r}' for path, (one, other)
             in differences(expected, found).items())
    return [line for line in lines if not any(
        re.fullmatch(pattern, line) for pattern, _reason in meant)]
