# SPDX-License-Identifier: Apache-2.0

"""In whose name a buried server is rebuilt."""

from __future__ import annotations

import copy
import typing as ty

from nova import objects
from nova.virt import hardware

from cell0_rebuild.api import errors
from cell0_rebuild.api import image as images
from cell0_rebuild import nova_compat

if ty.TYPE_CHECKING:
    from nova import context as nova_context

# The secret is Nova's own then, whoever asks for the server.
_DEPLOYMENT = 'deployment'


def context_of(
    context: nova_context.RequestContext, instance: objects.Instance
) -> nova_context.RequestContext:
    """Return the caller's context in the name of the server's owner.

    Networks, quota and keys are those of the server's project and user, also
    when an operator's service rebuilds other people's servers. The caller's
    token stays: it is what Neutron and Cinder authorize.
    """
    owner = copy.copy(context)
    owner.project_id = instance.project_id
    owner.user_id = instance.user_id
    return owner


def key_context_of(
    context: nova_context.RequestContext, instance: objects.Instance
) -> nova_context.RequestContext:
    """Return the context of the user whose key pairs a request names.

    It is the caller, as for Nova's own rebuild, unless the caller is an
    operator from outside the server's project.
    """
    if context.project_id == instance.project_id:
        return context
    return context_of(context, instance)


def check_vtpm(
    context: nova_context.RequestContext, instance: objects.Instance,
    image: images.Image,
) -> None:
    """Check that the secret of its vTPM is made where its owner can read it.

    :param context: the caller's, whose token makes the secret.
    :raises HTTPConflict: if it would be made in the wrong project.
    """
    if context.project_id == instance.project_id:
        return
    wanted = hardware.get_vtpm_constraint(
        instance.flavor, objects.ImageMeta.from_dict(image.meta))
    security = nova_compat.tpm_secret_security(instance.flavor)
    if wanted is None or security == _DEPLOYMENT:
        return
    errors.conflict(
        f'Server {instance.uuid} gets a vTPM when it is built, and its secret '
        f'would be made in your project instead of project '
        f'{instance.project_id}. Have a user of that project rebuild it.')
