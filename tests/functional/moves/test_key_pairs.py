# SPDX-License-Identifier: Apache-2.0

"""The public key that a server is built with, where Nova once lost it."""

import json

from nova import objects

from tests.functional import base
from tests.functional.support import databases


class KeyPairTest(base.FunctionalTestCase):

    def setUp(self):
        super().setUp()
        for name in ('old', 'new'):
            self.api.post_keypair({'keypair': {
                'name': name, 'type': 'ssh', 'public_key': base.PUBLIC_KEY,
            }})
        self.server = self.bury(key_name='old')
        self._start_compute('host1')

    def keys(self):
        """Return the names of the keys that the server has on its host."""
        [row] = [row for row in databases.dump()['cell1']['instance_extra']
                 if row['instance_uuid'] == self.server['id']]
        return [key.name for key in objects.KeyPairList.obj_from_primitive(
            json.loads(row['keypairs']))]

    # Nova's bug 2108974.
    def test_it_comes_to_the_other_cell(self):
        self.api.delete_keypair('old')
        self.rebuild(self.server)
        self.active(self.server)
        self.assertEqual(['old'], self.keys())

    # 1843708.
    def test_another_one_takes_its_place(self):
        self.rebuild(self.server, key_name='new')
        self.active(self.server)
        self.assertEqual(['new'], self.keys())
