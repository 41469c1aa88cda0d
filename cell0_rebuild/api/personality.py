# SPDX-License-Identifier: Apache-2.0

"""The personality files of a buried server, when it is rebuilt."""

from __future__ import annotations

import typing as ty

from oslo_config import cfg
from oslo_log import log as logging

from cell0_rebuild.api import errors
from cell0_rebuild import retained as retained_form

if ty.TYPE_CHECKING:
    from nova import objects

LOG = logging.getLogger(__name__)


def to_inject(
    instance: objects.Instance, retained: retained_form.Retained
) -> list[list[str]]:
    """Return ``[path, content]`` of each file that the server gets.

    :raises HTTPConflict: if it was created with files and
        ``[cell0_rebuild] personality_files`` does not allow to go on.
    """
    option = cfg.CONF.cell0_rebuild.personality_files
    found = [(str(path), content) for path, content in retained.injected_files]
    files = [[path, content] for path, content in found if content is not None]
    if option == 'persist' and len(files) == len(found):
        return files
    if not found:
        return []
    names = ', '.join(path for path, _ in found)
    if option == 'drop':
        LOG.warning('The server is rebuilt without the personality files %s '
                    'that it was created with.', names, instance=instance)
        return []
    errors.conflict(
        f'Server {instance.uuid} was created with personality files ({names}) '
        f'that are not kept while a server is buried in cell0. Delete it and '
        f'create it again; operators: with [cell0_rebuild] personality_files '
        f'= drop it is rebuilt without them.')
