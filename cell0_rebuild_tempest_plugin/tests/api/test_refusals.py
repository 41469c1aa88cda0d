# SPDX-License-Identifier: Apache-2.0

"""A rebuild that is refused leaves the buried server as it was."""

from __future__ import annotations

from tempest.lib.common.utils import data_utils
from tempest.lib import decorators
from tempest.lib import exceptions

from cell0_rebuild_tempest_plugin.tests import base


class RefusalsTest(base.BuriedServerTest):

    def setUp(self):
        super().setUp()
        self.buried = self.bury()
        self.host = self.capacity.come_back()

    def assert_refused(self, error, **changes):
        """Check that a rebuild is refused and a later one is not."""
        self.assertRaises(error, self.rebuild, self.buried, **changes)
        shown = self.admin_servers.show_server(self.buried['id'])['server']
        self.assertEqual(self.buried, shown)
        self.rebuild(self.buried)
        self.assert_rebuilt(self.buried, self.host)

    @decorators.attr(type='negative')
    @decorators.idempotent_id('b1a3f7a6-5d5c-4d0b-9f6b-8f3d0e2c7a41')
    def test_an_older_microversion_is_refused(self):
        major, minor = map(int, self.first.split('.'))
        if minor == 1:
            raise self.skipException('there is none')
        with self.asking(f'{major}.{minor - 1}'):
            self.assertRaises(
                exceptions.Conflict, self.rebuild, self.buried)
        shown = self.admin_servers.show_server(self.buried['id'])['server']
        self.assertEqual(self.buried, shown)

    @decorators.attr(type='negative')
    @decorators.idempotent_id('7f4b0c19-8f4d-4c0e-8a9b-6b8f1d0a5c32')
    def test_an_image_that_is_not_there_is_refused(self):
        self.assert_refused(exceptions.BadRequest,
                            imageRef=data_utils.rand_uuid())

    @decorators.attr(type='negative')
    @decorators.idempotent_id('2d9e6c57-3b1a-4f68-bb0d-4e7c9a1f8d60')
    def test_a_key_pair_that_is_not_there_is_refused(self):
        self.assert_refused(exceptions.BadRequest,
                            key_name=data_utils.rand_name('missing'))

    @decorators.attr(type='negative')
    @decorators.idempotent_id('4a8d1e3b-c6f2-4b97-a5d4-0f9b7c2e6d18')
    def test_a_locked_server_is_refused(self):
        self.admin_servers.lock_server(self.buried['id'])
        self.assertRaises(exceptions.Conflict, self.rebuild, self.buried)
        self.admin_servers.unlock_server(self.buried['id'])
        self.rebuild(self.buried)
        self.assert_rebuilt(self.buried, self.host)


class StrangerTest(base.BuriedServerTest):

    credentials = [*base.BuriedServerTest.credentials, 'alt']  # noqa: RUF012

    @decorators.attr(type='negative')
    @decorators.idempotent_id('d0f6b2c4-9a7e-4d13-8c5b-1e3a7f9d4b26')
    def test_the_server_of_another_project_is_not_found(self):
        buried = self.bury()
        self.assertRaises(
            exceptions.NotFound, self.os_alt.servers_client.rebuild_server,
            buried['id'], buried['image']['id'])
