#    Licensed under the Apache License, Version 2.0 (the "License"); you may
#    not use this file except in compliance with the License. You may obtain
#    a copy of the License at
#
#         http://www.apache.org/licenses/LICENSE-2.0
#
#    Unless required by applicable law or agreed to in writing, software
#    distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
#    WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
#    License for the specific language governing permissions and limitations
#    under the License.

"""The mark that an attempt leaves on its build request.

It travels as an entry of the system metadata of the build request's instance,
where any Nova keeps it through later updates, and is taken off before the
instance is created in a cell.

The generation tells one attempt from every other. The ID of the build request
would not do: SQLite, and MySQL after a restart, give the same ID again.
"""

from __future__ import annotations

import dataclasses
import typing as ty

from oslo_serialization import jsonutils

KEY = 'cell0_rebuild'


@dataclasses.dataclass
class Mark:
    """What must be known of an attempt by whoever finds its build request.

    :param generation: tells this attempt from every other.
    :param changed: the instance fields that the rebuild request changed.
    :param baseline: what was :mod:`watched` in cell0 when it was read.
    :param asked: the same as the rebuild request wants it.
    :param mapped_at: when the instance mapping was written last, before.
    :param taken_by: the host of the conductor that works on it, and an ID
        of its message.
    :param writes: the image that Cinder has to write to the root volume.
    :param answered: the request was answered before Cinder had.
    :param accepted: the changes are made: if the attempt fails, they stay.
    """

    generation: str
    changed: list[str]
    baseline: dict[str, ty.Any]
    asked: dict[str, ty.Any] = dataclasses.field(default_factory=dict)
    mapped_at: str | None = None
    taken_by: str | None = None
    writes: str | None = None
    answered: bool = False
    accepted: bool = False

    def put_on(self, instance: ty.Any) -> None:
        """Put the mark on the instance of a build request."""
        instance.system_metadata = dict(
            instance.system_metadata,
            **{KEY: jsonutils.dumps(dataclasses.asdict(self))})


def of(instance: ty.Any) -> Mark | None:
    """Return the mark of a build request's instance; None if it has none."""
    if 'system_metadata' not in instance:
        return None
    text = instance.system_metadata.get(KEY)
    return None if text is None else read(jsonutils.loads(text))


def read(values: dict[str, ty.Any]) -> Mark:
    """Return the mark that has these fields.

    What a newer version of the package has more is left out: its field must
    be one that can be ignored.
    """
    known = {field.name for field in dataclasses.fields(Mark)}
    return Mark(**{name: value for name, value in values.items()
                   if name in known})


def take_off(instance: ty.Any) -> None:
    """Remove the mark from an instance."""
    metadata = dict(instance.system_metadata)
    metadata.pop(KEY, None)
    instance.system_metadata = metadata
