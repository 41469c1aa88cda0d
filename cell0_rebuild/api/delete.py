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

"""Deleting a server that is on its way out of cell0."""

from __future__ import annotations

import typing as ty

from cell0_rebuild.exhumation import attempt as attempts
from cell0_rebuild.exhumation import mark


def delete_while_booting(
    wrapped: ty.Callable[..., bool], compute_api: ty.Any, args: ty.Any,
    kwargs: ty.Any,
) -> bool:
    """Wrap ``API._delete_while_booting``: the row in cell0 goes as well."""
    return _delete(wrapped, *args, **kwargs)


def _delete(
    wrapped: ty.Callable[..., bool], context: ty.Any, instance: ty.Any
) -> bool:
    ours = mark.of(instance) is not None
    # Then it was read from a cell, where it has no mark. That a build request
    # is there too is a matter of moments, unless its conductor has died.
    in_cell = 'id' in instance
    deleted = wrapped(context, instance)
    if deleted and ours:
        attempts.clear(context, instance.uuid)
    elif deleted and in_cell:
        attempts.remove_grave(context, instance.uuid)
    return deleted
