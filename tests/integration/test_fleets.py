# SPDX-License-Identifier: Apache-2.0

"""Nova services with and without the package."""

import concurrent.futures
import time

from tests.integration import base
from tests.integration import standins

CLOUD = None


def setUpModule():
    global CLOUD
    CLOUD = base.shared_cloud_for_burials()


class FleetTestCase(base.CloudTestCase):
    """A test of several nova-apis or conductors."""

    def buried(self, count=1, api=None):
        """Return servers that are buried, with a host for them by now."""
        servers = self.do.bury(count, api)
        self.cloud.open_host()
        return servers

    def assert_nothing_lost(self, answers):
        """Check that each rebuild was served, or refused as if not asked.

        :param answers: by server.
        :returns: how many were served.
        """
        self.assertLessEqual(
            {answer.status_code for answer in answers.values()}, {202, 409})
        served = [server for server, answer in answers.items()
                  if answer.status_code == 202]
        self.do.wait_for('ACTIVE', *served)
        for server in answers.keys() - served:
            self.assert_shown_once(server, 'ERROR')
        return len(served)


class RollingTest(FleetTestCase):
    """Conductors are restarted one after the other under load."""

    def test_every_rebuild_is_served_or_refused(self):
        self.cloud.conductors(enabled=['one'], stock=['stock'])
        servers = self.buried(8)
        with concurrent.futures.ThreadPoolExecutor(1) as pool:
            # It outlives one and sees two come.
            answers = pool.submit(self.rebuild_slowly, servers)
            stopped = self.cloud.stop_conductor('one')
            self.cloud.conductors(enabled=['two'], stock=['stock'])
            self.assertEqual(0, stopped.code())
        self.assertGreater(self.assert_nothing_lost(answers.result()), 0)

    def rebuild_slowly(self, servers):
        answers = {}
        for server in servers:
            answers[server] = self.cloud.api.rebuild(server)
            time.sleep(1)
        return answers


class OneApiTest(FleetTestCase):
    """Of two nova-apis, one has the package."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        CLOUD.conductors(enabled=['one'])
        api = CLOUD.another_api('stock-api')
        _, cls.stock_api = api.__enter__()
        cls.addClassCleanup(api.__exit__, None, None, None)

    def test_the_other_shows_novas_own_highest_microversion(self):
        added = self.cloud.api.added
        for api, highest in ((self.stock_api, self.stock_api.stock),
                             (self.cloud.api, added)):
            self.assertEqual(highest, api.get('/')['version']['version'])
        answer = self.stock_api.ask('GET', '/servers', None, added)
        self.assertEqual(406, answer.status_code)

    def test_the_other_refuses_and_the_one_rebuilds(self):
        [server] = self.buried()
        before = self.cloud.dump()
        answer = self.stock_api.rebuild(
            server, self.stock_api.stock, imageRef=standins.IMAGE)
        self.assert_refused(answer, "invalid state for 'rebuild'")
        self.assert_nothing_changed(before)
        self.do.rebuild(server)
        self.do.wait_for('ACTIVE', server)

    def test_a_server_of_the_other_is_rebuilt_after_its_burial(self):
        [server] = self.buried(api=self.stock_api)
        self.do.rebuild(server)
        self.do.wait_for('ACTIVE', server)

    def test_the_other_deletes_a_server_in_the_middle_of_a_rebuild(self):
        [server] = self.buried()
        with self.cloud.paused_scheduler():
            self.do.rebuild(server)
            self.assertEqual('BUILD', self.stock_api.server(server)['status'])
            self.stock_api.delete(f'/servers/{server}')
        conductor = self.cloud.conductor('one')
        conductor.wait_until(
            lambda: self.live_rows(server) == [], 'the end of all rows')
        self.assertEqual(404, self.cloud.api.ask(
            'GET', f'/servers/{server}').status_code)
        conductor.wait_until(
            lambda: self.cloud.allocations(server) == {},
            'the end of the allocations')

    def live_rows(self, server):
        """Return where a server is, but for what Nova has soft-deleted."""
        return [key for key, rows in self.cloud.dump().rows.items()
                if key[1] in ('instances', 'build_requests')
                for row in rows if server in row.values()
                and not row.get('deleted')]
