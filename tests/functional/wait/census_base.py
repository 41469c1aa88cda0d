# SPDX-License-Identifier: Apache-2.0

"""Servers that wait, and what is known of them."""

import datetime

from nova import context as nova_context

from cell0_rebuild.wait.census import eligibility
from cell0_rebuild.wait import wishes
from tests.functional import base
from tests.functional.support import databases

HOUR = datetime.timedelta(hours=1)
SITE = wishes.Site('asked', 24 * HOUR, 168 * HOUR)
ASKED = {wishes.WAIT: '2h'}


def taken(site=SITE):
    """Return who waits."""
    return eligibility.take(nova_context.get_admin_context(), site)


class WaitingTestCase(base.FunctionalTestCase):
    """There is no host."""

    def bury_many(self, count, **body):
        """Bury servers that asked to wait, and return them."""
        body = {'metadata': ASKED, **body}
        self.bury(min_count=count, max_count=count, **body)
        self._wait_for_assert(lambda: self.assertEqual(
            ['ERROR'] * count,
            [server['status'] for server in self.api.get_servers()]))
        self._wait_for_assert(lambda: self.assertFalse(
            databases.dump()['api']['build_requests']))
        return self.api.get_servers()

    def found(self, server):
        """Return what was found of a server that waits."""
        [found] = [one for one in taken().waiting
                   if one.uuid == server['id']]
        return found

    def assert_who_waits(self, servers, **kwargs):
        """Check which servers wait."""
        self.assertEqual(
            {server['id'] for server in servers},
            {one.uuid for one in taken(**kwargs).waiting})
