# SPDX-License-Identifier: Apache-2.0

"""Start a service of Nova and tell what has been patched in it.

Usage: probe.py REPORT PROGRAM [ARGUMENT ...]

PROGRAM is a console script of Nova or a module with a WSGI application. It is
left where it would serve, or where it would wait for another service, and
what was patched is written to the file REPORT, as JSON.

It runs as a script, so that nothing is imported before the service is.
"""

import importlib
from importlib import metadata
import json
import os
import sys


def targets():
    """Return all targets."""
    from cell0_rebuild import nova_internals
    from cell0_rebuild import patching
    found = []
    for value in vars(nova_internals).values():
        found += value if isinstance(value, tuple) else [value]
    return [value for value in found if isinstance(value, patching.Target)]


def is_wrapped(target):
    """Tell whether somebody has wrapped a target."""
    import wrapt
    importlib.import_module(target.module)
    owner, attribute = target.owner()
    return isinstance(
        vars(owner).get(attribute), wrapt.FunctionWrapper)


def is_eventlet():
    """Tell whether the process is patched for eventlet."""
    if 'eventlet' not in sys.modules:
        return False
    from eventlet import patcher
    return patcher.is_monkey_patched('socket')


def write(path, **more):
    """Write the report."""
    from nova.api.openstack.compute import versions
    from nova import objects
    from nova.objects import base
    registered = base.NovaObjectRegistry.obj_classes()['RequestSpec']
    report = {
        'wrapped': sorted(
            str(target) for target in targets() if is_wrapped(target)),
        'classes': [cls.__module__ for cls in (
            objects.RequestSpec, *registered)],
        'microversion': versions.VERSIONS['v2.1']['version'],
        'eventlet': is_eventlet(),
        **more,
    }
    with open(path, 'w') as file:
        json.dump(report, file)


def stop(path, **more):
    """Write the report and end the process."""
    write(path, **more)
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)


def answers():
    """Tell whether somebody here listens for rebuilds."""
    from nova import context
    from nova import rpc
    import oslo_messaging

    from cell0_rebuild import rpcapi
    client = rpc.get_client(oslo_messaging.Target(
        topic=rpcapi.TOPIC, namespace=rpcapi.NAMESPACE,
        version=rpcapi.VERSION)).prepare(timeout=1)
    try:
        return client.call(context.get_admin_context(), 'ping')
    except oslo_messaging.MessagingTimeout:
        return False


def scripts():
    """Return the console scripts of Nova."""
    return [found for found in metadata.distribution('nova').entry_points
            if found.group == 'console_scripts']


def run_script(path, program):
    """Run a console script as it runs itself."""
    script, = (found for found in scripts() if found.name == program)
    main = script.load()
    from nova import service

    def serve(server, **options):
        server.start()
        stop(path, **({'answers': answers()}
                      if program == 'nova-conductor' else {}))

    service.serve = serve
    if program == 'nova-compute':
        # Next it would wait for a conductor.
        service.Service.create = lambda **options: stop(path)
    code = main()
    write(path)
    sys.exit(code)


def main(path, program, *arguments):
    """Start the program."""
    del sys.path[0]  # the folder of this file
    sys.argv = [os.path.join(os.path.dirname(sys.executable), program),
                *arguments]
    if program.startswith('nova.'):
        module = importlib.import_module(program)
        if not hasattr(module, 'application'):
            module.init_application()
        stop(path)
    run_script(path, program)


if __name__ == '__main__':
    main(*sys.argv[1:])
