# SPDX-License-Identifier: Apache-2.0

"""Changes that tests make to a Nova service, before it runs.

Python imports it in every process that has its folder in ``PYTHONPATH``;
``CELL0_REBUILD_CHANGE`` names the change.
"""

import functools
import os
import signal

import wrapt

_NAMESPACE = 'cell0_rebuild'


def older(endpoint):
    """Make a conductor one of version 1.0 of the RPC API."""
    import oslo_messaging
    cls = endpoint.RebuildEndpoint
    cls.target = oslo_messaging.Target(namespace=_NAMESPACE, version='1.0')
    rebuild = cls.rebuild_instance_in_cell0

    @functools.wraps(rebuild)
    def rebuild_instance_in_cell0(
            self, context, instance_uuid, generation, request_spec, image,
            admin_password, injected_files):
        return rebuild(self, context, instance_uuid, generation, request_spec,
                       image, admin_password, injected_files)

    cls.rebuild_instance_in_cell0 = rebuild_instance_in_cell0


def dying(endpoint):
    """Have a conductor die of a rebuild, before it takes the attempt."""
    def rebuild_instance_in_cell0(self, context, **arguments):
        os.killpg(0, signal.SIGKILL)

    endpoint.RebuildEndpoint.rebuild_instance_in_cell0 = (
        rebuild_instance_in_cell0)


def older_client(rpcapi):
    """Make a nova-api one of version 1.0 of the RPC API."""
    rpcapi.VERSION = '1.0'
    rebuild = rpcapi.RebuildAPI.rebuild_instance_in_cell0

    def rebuild_instance_in_cell0(
            self, context, instance_uuid, generation, request_spec, image,
            admin_password, injected_files, reimage_volume_id):
        assert reimage_volume_id is None
        rebuild(self, context, instance_uuid, generation, request_spec,
                image, admin_password, injected_files)

    rpcapi.RebuildAPI.rebuild_instance_in_cell0 = rebuild_instance_in_cell0


_MODULES = {
    'older': 'cell0_rebuild.conductor.endpoint',
    'dying': 'cell0_rebuild.conductor.endpoint',
    'older_client': 'cell0_rebuild.rpcapi',
}

_change = os.environ.get('CELL0_REBUILD_CHANGE')
if _change:
    wrapt.register_post_import_hook(globals()[_change], _MODULES[_change])
