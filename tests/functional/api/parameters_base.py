# SPDX-License-Identifier: Apache-2.0

"""A buried server that a request changes when it rebuilds it."""

import copy

from oslo_utils import uuidutils

from tests.functional import base
from tests.functional.support import databases


class ParameterTestCase(base.FunctionalTestCase):

    def rebuilt(self, server, **body):
        """Return the server after a rebuild that succeeded."""
        if not self.computes:
            self._start_compute('host1')
        self.rebuild(server, **body)
        return self.active(server)

    def row(self, cell='cell1'):
        """Return the row of the only server that is in a cell."""
        [row] = databases.dump()[cell]['instances']
        return row

    def new_image(self, **changes):
        """Return the ID of another image."""
        image = copy.deepcopy(self.glance.image1)
        image.update(id=uuidutils.generate_uuid(), **changes)
        self.glance.create(None, image)
        return image['id']

    def new_key(self, name):
        self.api.api_post('/os-keypairs', {'keypair': {
            'name': name, 'type': 'ssh', 'public_key': base.PUBLIC_KEY}})
