# SPDX-License-Identifier: Apache-2.0

"""A buried server is rebuilt, or buried again, and stays the same server."""

from __future__ import annotations

import json

from tempest import config
from tempest.lib.common.utils import data_utils
from tempest.lib import decorators
from tempest.lib import exceptions

from cell0_rebuild_tempest_plugin.tests import base

CONF = config.CONF


class RebuildTest(base.BuriedServerTest):

    @decorators.attr(type='smoke')
    @decorators.idempotent_id('1f5d4b0a-36c3-4c07-9c49-6a0f7ab1f8d2')
    def test_a_server_comes_to_life_when_capacity_is_back(self):
        buried = self.bury()
        host = self.capacity.come_back()
        self.rebuild(buried)
        self.assert_rebuilt(buried, host)

    @decorators.idempotent_id('2b0d6d0e-8c56-4b2f-9e0a-5d1c7b3f4a69')
    def test_the_first_microversion_that_may_rebuilds_it(self):
        buried = self.bury()
        host = self.capacity.come_back()
        with self.asking(self.first):
            self.rebuild(buried)
        self.assert_rebuilt(buried, host)

    @decorators.idempotent_id('a7c0d7f8-52ba-4a3c-9b9b-0f0c4d1f3a86')
    def test_the_image_may_be_left_out(self):
        if CONF.cell0_rebuild.microversion:
            raise self.skipException('a stock microversion requires it')
        buried = self.bury()
        host = self.capacity.come_back()
        # What Tempest's clients have for it requires an image.
        self.servers.post(f'servers/{buried["id"]}/action',
                          json.dumps({'rebuild': {}}))
        server = self.assert_rebuilt(buried, host)
        self.assertEqual(CONF.compute.image_ref, server['image']['id'])

    @decorators.idempotent_id('6c1e3f0f-9b7f-4b37-8f4e-a2f9db0f3f61')
    def test_a_server_is_buried_again_until_there_is_capacity(self):
        buried = self.bury()
        self.rebuild(buried)
        again = self.wait_until_settled(buried['id'])
        self.assertEqual('ERROR', again['status'])
        self.assertIn('No valid host', again['fault']['message'])
        host = self.capacity.come_back()
        self.rebuild(buried)
        self.assert_rebuilt(buried, host)

    @decorators.idempotent_id('d7b8f3be-0c86-47c6-8f7a-4ad11dba6f1b')
    def test_what_was_asked_for_at_create_is_still_there(self):
        buried = self.bury(
            metadata={'tier': 'gold'}, description='the first',
            user_data='aGVsbG8=', tags=['blue'], config_drive=True)
        host = self.capacity.come_back()
        self.rebuild(buried)
        server = self.assert_rebuilt(buried, host)
        for kept in ('name', 'metadata', 'description', 'tags', 'flavor',
                     'config_drive', 'OS-EXT-SRV-ATTR:user_data'):
            self.assertEqual(buried[kept], server[kept], kept)

    @decorators.idempotent_id('0d8c4a53-7d0f-4f34-a13f-1c5de3a8c1e4')
    def test_a_rebuild_changes_what_it_names(self):
        buried = self.bury(metadata={'tier': 'gold'})
        host = self.capacity.come_back()
        name = data_utils.rand_name('rebuilt')
        self.rebuild(buried, imageRef=CONF.compute.image_ref_alt, name=name,
                     metadata={'tier': 'iron'}, description='the second')
        server = self.assert_rebuilt(buried, host)
        self.assertEqual(CONF.compute.image_ref_alt, server['image']['id'])
        self.assertEqual((name, {'tier': 'iron'}, 'the second'), (
            server['name'], server['metadata'], server['description']))

    @decorators.idempotent_id('55e0a7a8-60b3-4b4f-8c0e-36c2a8f9d7e5')
    def test_a_server_is_listed_once_at_every_moment(self):
        buried = self.bury()
        self.capacity.come_back()
        self.rebuild(buried)
        while True:
            listed = [server for server in self.servers.list_servers(
                detail=True)['servers'] if server['id'] == buried['id']]
            self.assertEqual(1, len(listed))
            if listed[0]['status'] not in ('BUILD', 'REBUILD'):
                break
        self.assertEqual('ACTIVE', listed[0]['status'])

    @decorators.idempotent_id('9e6c3c9f-6f0b-4d5e-8a28-5b4e4a0ecf0d')
    def test_the_history_has_the_create_and_the_rebuild(self):
        buried = self.bury()
        host = self.capacity.come_back()
        self.rebuild(buried)
        self.assert_rebuilt(buried, host)
        actions = self.servers.list_instance_actions(
            buried['id'])['instanceActions']
        self.assertEqual({'create', 'rebuild'},
                         {action['action'] for action in actions})

    @decorators.idempotent_id('c3a1a1f5-4a77-4f0a-b0c1-9d8d5d4b8f27')
    def test_a_rebuilt_server_can_be_rebuilt_as_any_other(self):
        buried = self.bury()
        host = self.capacity.come_back()
        self.rebuild(buried)
        self.assert_rebuilt(buried, host)
        self.rebuild(buried)
        self.assert_rebuilt(buried, host)

    @decorators.idempotent_id('8b5f2b53-20f4-4ac1-a6c2-7d6f1c1d3f94')
    def test_a_rebuilt_server_is_gone_when_it_is_deleted(self):
        buried = self.bury()
        host = self.capacity.come_back()
        self.rebuild(buried)
        self.assert_rebuilt(buried, host)
        self.delete(buried['id'])
        self.assertRaises(exceptions.NotFound, self.servers.show_server,
                          buried['id'])

    @decorators.idempotent_id('e4a2b9d6-1f3c-4c52-9bd0-2c7f80f95a13')
    def test_a_server_that_is_buried_again_can_be_deleted(self):
        buried = self.bury()
        self.rebuild(buried)
        self.wait_until_settled(buried['id'])
        self.delete(buried['id'])
        self.assertRaises(exceptions.NotFound, self.servers.show_server,
                          buried['id'])
