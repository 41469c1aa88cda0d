# SPDX-License-Identifier: Apache-2.0

"""What is kept of buried servers, on a whole Nova in this process."""

import base64
import json
import os
import typing

os.environ.setdefault('OS_NOVA_DISABLE_EVENTLET_PATCHING', '1')
os.environ['OS_TEST_TIMEOUT'] = '0'

# Before anything of Nova: it decides which kind of threads there are.
from tests.functional.support import asking  # noqa: E402
from tests.functional import base  # noqa: E402
from tests.functional.support import databases  # noqa: E402

from cell0_rebuild import objects as our_objects  # noqa: E402

NETWORKS = (1, 4, 16)
FILE = 1000


class _Blobs(asking.AskingMixin, base.FunctionalTestCase):
    """Buries servers and measures what is kept of them."""

    microversion = '2.37'
    options: typing.ClassVar = {'personality_files': 'persist'}

    def measure(self):
        """Measure all of them, before and after a rebuild."""
        network = {'uuid': self.neutron.network_1['id']}
        file = {'path': '/etc/motd', 'contents': base64.b64encode(
            b'x' * FILE).decode()}
        found = type(self).found = {}
        for name, networks, files in [
                *((f'networks: {count}', count, []) for count in NETWORKS),
                (f'networks: 1, a file of {FILE} bytes', 1, [file])]:
            server = self.bury(networks=[network] * networks,
                               personality=files)
            found[name] = {'buried': _sizes(server['id'])}
            if networks == 1:
                self._start_compute(f'host{len(found)}')
                self.rebuild(server)
                self.active(server)
                found[name]['rebuilt'] = _sizes(server['id'])
                self.no_host_fits()


def measure(options):
    """Return the bytes that a RequestSpec grows by."""
    result = _Blobs('measure').run()
    for _, traceback in (*result.errors, *result.failures):
        raise AssertionError(traceback[-5000:])
    return _Blobs.found


def _sizes(server_id):
    [blob] = [row['spec'] for row in databases.dump()['api']['request_specs']
              if row['instance_uuid'] == server_id]
    spec = json.loads(blob)
    spec.pop(our_objects.SECTION, None)
    stock = len(json.dumps(spec))
    return {'stock': stock, 'added': len(blob) - stock}
