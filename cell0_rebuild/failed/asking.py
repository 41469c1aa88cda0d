# SPDX-License-Identifier: Apache-2.0

"""What a compute and Neutron are asked of a server that has failed.

A build holds a lock until its last step, which deletes the allocations of the
server. The external event ``power-update`` waits for the same lock. Sent as an
RPC call, it is answered when the build is over
(``nova.compute.manager.ComputeManager.power_update``).
"""

from __future__ import annotations

from nova.compute import rpcapi
from nova import context as nova_context
from nova import exception
from nova.network import neutron
from nova import objects
from oslo_db import exception as db_exc
import oslo_messaging

from cell0_rebuild import cells

ACTION = 'bury'
CHANGED = 'Somebody has changed it meanwhile. Look at it, and try again'
_VERSION = '5.0'


class NotAtRest(Exception):
    """It is not shown that nobody works on the server; the text says why."""


def wait_for_build(
    instance: objects.Instance, cell: objects.CellMapping, host: str
) -> None:
    """Return when the compute has no build of the server any more.

    It leaves an event, on an action of its own: without one, the compute does
    not come to the lock.

    :param instance: in ERROR, so that the compute does nothing else.
    :raises NotAtRest: if the compute does not answer, or the server leaves its
        cell meanwhile.
    """
    context = cells.targeted(nova_context.RequestContext(
        user_id=instance.user_id, project_id=instance.project_id,
        is_admin=True), cell)
    event = objects.InstanceExternalEvent(
        context, instance_uuid=instance.uuid, name='power-update',
        status='completed', tag='POWER_OFF')
    try:
        objects.InstanceAction.action_start(
            context, instance.uuid, ACTION, want_result=False)
        _call(context, host, 'external_instance_event',
              instances=[instance], events=[event])
    except oslo_messaging.MessagingTimeout as error:
        raise NotAtRest(
            f'The nova-compute of host {host} does not answer, or still '
            f'builds it. Try again when it runs') from error
    except (exception.InstanceNotFound, exception.InstanceActionNotFound,
            db_exc.DBReferenceError) as error:
        raise NotAtRest(CHANGED) from error


def check_no_guest(
    instance: objects.Instance, cell: objects.CellMapping, host: str
) -> None:
    """Return if libvirt on the host has no guest of the server.

    :raises NotAtRest: if it has one, or does not tell.
    """
    context = cells.targeted(nova_context.get_admin_context(), cell)
    try:
        _call(context, host, 'get_console_output', instance=instance,
              tail_length=0)
    except exception.InstanceNotFound:
        return
    except oslo_messaging.MessagingTimeout as error:
        raise NotAtRest(
            f'The nova-compute of host {host} does not answer. Try again when '
            f'it runs') from error
    except Exception as error:
        raise NotAtRest(
            f'The nova-compute of host {host} does not tell whether it has a '
            f'guest of it ({type(error).__name__})') from error
    raise NotAtRest(
        f'Host {host} has a guest of it. Look at it there, and remove it with '
        f'"virsh destroy" and "virsh undefine"')


def check_no_ports(
    context: nova_context.RequestContext, instance_uuid: str
) -> None:
    """Return if no port is left that the build has bound.

    :raises NotAtRest: if there is one.
    """
    ports = neutron.get_client(context, admin=True).list_ports(
        device_id=instance_uuid, fields=['id'])['ports']
    if ports:
        found = ', '.join(sorted(port['id'] for port in ports))
        raise NotAtRest(
            f'Ports {found} are still bound to it. Release each with '
            f'"openstack port unset --device", or delete it')


def _call(
    context: nova_context.RequestContext, host: str, method: str,
    **arguments: object,
) -> object:
    api = rpcapi.ComputeAPI()
    return api.router.client(context).prepare(
        server=host, version=api._ver(context, _VERSION),
    ).call(context, method, **arguments)
