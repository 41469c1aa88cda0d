# SPDX-License-Identifier: Apache-2.0

"""Check that a server may have what it needs, in the name of its owner.

The source is ``nova.compute.api.API.create`` and what it calls.
``reference/checks.rst`` says where each of its checks is made, or why not.
"""

from __future__ import annotations

import copy
import typing as ty

from nova import availability_zones
from nova import exception
from nova.network import neutron
from nova import objects
from nova.virt import hardware
from oslo_config import cfg
from oslo_log import log as logging
import webob.exc

from cell0_rebuild.api import errors
from cell0_rebuild.api import image as images
from cell0_rebuild import nova_compat

if ty.TYPE_CHECKING:
    from nova.compute import api as compute
    from nova import context as nova_context

    from cell0_rebuild import retained as retained_form

LOG = logging.getLogger(__name__)

# The secret of a vTPM is Nova's own then, whoever asks for the server.
_DEPLOYMENT = 'deployment'


def owners_context(
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


def keys_context(
    context: nova_context.RequestContext, instance: objects.Instance
) -> nova_context.RequestContext:
    """Return the context of the user whose key pairs a request names.

    It is the caller, as for Nova's own rebuild, unless the caller is an
    operator from outside the server's project.
    """
    if context.project_id == instance.project_id:
        return context
    return owners_context(context, instance)


def check_spec(
    spec: objects.RequestSpec | None, instance: objects.Instance
) -> None:
    """Check that all is known that a create has to tell the scheduler.

    :param spec: the stored RequestSpec, None if there is none.
    :raises HTTPConflict: if it is not.
    """
    if spec is None:
        errors.conflict(
            f'Server {instance.uuid} has no request spec, without which it '
            f'cannot be scheduled. Delete it and create it again.')
    if spec.unreadable is not None:
        refuse_unreadable(instance.uuid, spec.unreadable)
    if spec.retained is None:
        errors.conflict(
            f'The requested networks of server {instance.uuid} are unknown: '
            f'it was buried by a nova-conductor without cell0-rebuild. It '
            f'cannot be rebuilt from cell0. Delete it and create it again.')
    # Objects inside it are loaded with the changes that they once had.
    spec.obj_reset_changes(recursive=True)


def refuse_unreadable(instance_uuid: str, reason: str) -> ty.NoReturn:
    """Refuse because what is stored of a server cannot be read.

    :raises HTTPConflict: always.
    """
    LOG.warning('What is kept of the server cannot be read: %s.', reason,
                instance_uuid=instance_uuid)
    errors.conflict(
        f'What cell0-rebuild keeps of server {instance_uuid} cannot be read: '
        f'{reason}. Try again when Nova and cell0-rebuild are upgraded in all '
        f'services; if it stays so, delete it and create it again.')


def check(
    compute_api: compute.API, context: nova_context.RequestContext,
    instance: objects.Instance, spec: objects.RequestSpec,
) -> None:
    """Check that what the owner asked for at create is still there.

    :param context: of the server's owner.
    :param spec: its stored RequestSpec.
    :raises HTTPBadRequest: if a security group or the zone is gone.
    :raises ComputeHostNotFound: if the requested host or node is.
    """
    _check_zone(compute_api, context, spec)
    _check_destination(
        compute_api, context, spec.retained.requested_destination)
    _check_security_groups(compute_api.network_api, context, instance, spec)


def _check_zone(
    compute_api: compute.API, context: nova_context.RequestContext,
    spec: objects.RequestSpec,
) -> None:
    zone = spec.availability_zone
    # As for a create: who forces a host is not asked for its zone.
    if zone is None or spec.force_hosts:
        return
    if zone not in availability_zones.get_availability_zones(
            context.elevated(), compute_api.host_api,
            get_only_available=True):
        raise webob.exc.HTTPBadRequest(
            explanation=f'Availability zone {zone} of server '
                        f'{spec.instance_uuid} is not available. Try again '
                        f'later; operators: no compute of the zone is up and '
                        f'enabled.')


def _check_destination(
    compute_api: compute.API, context: nova_context.RequestContext,
    destination: objects.Destination | None,
) -> None:
    if destination is not None:
        compute_api._validate_host_or_node(
            context, destination.host if 'host' in destination else None,
            destination.node)


def _check_security_groups(
    network_api: neutron.API, context: nova_context.RequestContext,
    instance: objects.Instance, spec: objects.RequestSpec,
) -> None:
    """Look for the groups as the compute will.

    A create looks for each group on its own. For an operator's service, this
    would find a group that the server's project may no longer use.
    """
    networks = spec.retained.requested_networks
    if networks is not None and networks.no_allocate:
        return
    groups = network_api._clean_security_groups(
        [group.identifier for group in spec.security_groups])
    if not groups:
        return
    try:
        network_api._process_security_groups(
            instance, neutron.get_client(context), groups)
    except exception.SecurityGroupNotFound as error:
        raise webob.exc.HTTPBadRequest(
            explanation=f'{error.format_message()} Server {instance.uuid} '
                        f'was created with it, and a rebuild from cell0 '
                        f'cannot change that. Delete the server and create '
                        f'it again.') from error


def files_to_inject(
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
        f'that are not kept. Delete it and create it again; operators: '
        f'[cell0_rebuild] personality_files = drop rebuilds it without them.')


def check_disk_key(
    instance: objects.Instance, bdms: objects.BlockDeviceMappingList
) -> None:
    """Check that its local disks are encrypted if those of all servers are.

    ``nova.compute.api.API._populate_instance_for_create`` makes the key.

    :raises HTTPConflict: if the server has none.
    """
    if (cfg.CONF.ephemeral_storage_encryption.enabled
            and instance.ephemeral_key_uuid is None
            and any(bdm.is_local for bdm in bdms)):
        errors.conflict(
            f'This cloud encrypts local disks, and server {instance.uuid} has '
            f'no key for its own: it was created before that. Delete it and '
            f'create it again.')


def check_certificates(
    compute_api: compute.API, context: nova_context.RequestContext,
    instance: objects.Instance,
) -> None:
    """Check that a server without an image needs no trusted certificates.

    The source is ``nova.compute.api.API._create_instance``.

    :raises CertificateValidationFailed: if each image has to be validated.
    """
    certs = instance.trusted_certs
    if not instance.image_ref and compute_api._retrieve_trusted_certs_object(
            context, certs.ids if certs else None) is not None:
        raise exception.CertificateValidationFailed(
            message='Image certificate validation is not supported when '
                    'booting from volume.')


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
