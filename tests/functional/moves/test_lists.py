# SPDX-License-Identifier: Apache-2.0

"""Lists of servers, some of them on their way, as owners page through them.

Each case was once a bug of Nova's lists, which look at build requests first
and then at cells.
"""

import urllib.parse

from nova.db.api import models as api_models
from nova.tests.functional.api import client
import sqlalchemy as sa

from tests.functional import base
from tests.functional.support import databases
from tests.functional.support import races_base
from tests import releases


class ListTest(base.FunctionalTestCase):
    """Of three buried servers the second is on its way."""

    def setUp(self):
        super().setUp()
        self.servers = [
            self.bury(name=name, tags=[name]) for name in ('a', 'b', 'c')]
        self.late = self.useFixture(races_base.HeldMessage())
        self._start_compute('host1')
        self.rebuild(self.servers[1])

    def listed(self, **query):
        """Return the names of the servers of one list."""
        return [server['name'] for server in self.api.api_get(
            f'/servers?{urllib.parse.urlencode(query)}').body['servers']]

    def paged(self, **query):
        """Return the names on all pages of a list, one on each."""
        found, path = [], f'/servers?{urllib.parse.urlencode(query)}&limit=1'
        while path and len(found) < 9:
            body = self.api.api_get(path).body
            found += [server['name'] for server in body['servers']]
            links = {link['rel']: link['href']
                     for link in body.get('servers_links', ())}
            path = 'next' in links and '/servers?' + urllib.parse.urlsplit(
                links['next']).query
        return found

    # Nova's bugs 1647464 and 1808286.
    def test_all_pages_together_show_each_server_once(self):
        self.assertEqual(['a', 'b', 'c'], sorted(self.paged()))

    def test_all_pages_show_each_once_when_it_has_left(self):
        self.late.deliver()
        self.active(self.servers[1])
        self.assertEqual(['a', 'b', 'c'], sorted(self.paged()))

    # 1737856.
    def test_a_marker_that_the_filter_leaves_out_is_400_as_in_a_create(self):
        error = self.assertRaises(
            client.OpenStackApiException, self.listed, name='a',
            marker=self.servers[1]['id'])
        self.assertEqual(400, error.response.status_code)

    # 1849409.
    def test_all_pages_of_deleted_servers_show_each_once(self):
        for server in self.servers[::2]:
            self.api.delete_server(server['id'])
            self._wait_until_deleted(server)
        self.assertEqual(['a', 'c'], sorted(self.paged(deleted=True)))

    # 1644513.
    def test_one_on_its_way_is_none_that_is_deleted(self):
        self.assertEqual([], self.listed(deleted=True))
        self.assertIn('b', self.listed(deleted=False))

    # 2095364.
    @releases.needs('lists_without_spec')
    def test_one_without_a_request_spec_is_listed_with_the_others(self):
        with databases.engines()['api'].begin() as connection:
            connection.execute(sa.delete(api_models.RequestSpec).where(
                api_models.RequestSpec.instance_uuid
                == self.servers[0]['id']))
        # Later ones show hints, of which Nova says null then, and that null is
        # no answer.
        with self.microversion_is('2.96'):
            self.assertEqual(
                ['a', 'b', 'c'],
                sorted(server['name'] for server in self.api.get_servers()))
            shown = self.api.get_server(self.servers[0]['id'])
        self.assertIsNone(shown['pinned_availability_zone'])

    # 1806515.
    def test_one_that_is_buried_again_is_shown_with_its_tags(self):
        host = self.computes['host1'].service_ref.uuid
        self.api.put_service(host, {'status': 'disabled'})
        self.late.deliver()
        shown = self.buried_again(self.servers[1])
        self.assertEqual(['b'], shown['tags'])
        self.assertEqual(['b'], self.listed(tags='b'))
