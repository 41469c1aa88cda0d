# SPDX-License-Identifier: Apache-2.0

"""Services that are restarted while servers are rebuilt."""

from tests.e2e import base


class RestartsTestCase(base.CloudTestCase):

    def test_a_rebuild_waits_for_a_scheduler_that_is_restarted(self):
        server = self.bury()
        self.cloud.only_hosts_in('cell1')
        scheduler = self.cloud.service('nova-scheduler')
        scheduler.daemon.stop()
        self.accept_rebuild(server)
        self.assertEqual('BUILD', self.server(server).status)
        scheduler.start()
        scheduler.wait()
        self.wait_for('ACTIVE', server)

    def test_a_conductor_finishes_rebuilds_before_it_ends(self):
        servers = [self.bury() for _ in range(5)]
        self.cloud.only_hosts_in('cell1')
        for server in servers:
            self.accept_rebuild(server)
        conductor = self.cloud.service('nova-superconductor')
        conductor.daemon.stop(seconds=60)
        self.wait_for('ACTIVE', *servers)
        conductor.start()
        conductor.wait()

    def test_without_a_conductor_nothing_is_accepted(self):
        server = self.bury()
        conductor = self.cloud.service('nova-superconductor')
        conductor.daemon.stop()
        try:
            answer = self.rebuild(server)
        finally:
            conductor.start()
            conductor.wait()
        self.assertEqual(409, answer.status_code, answer.text)
        self.assertEqual('ERROR', self.server(server).status)

    def test_the_first_list_of_ports_after_a_restart_is_answered(self):
        neutron = self.cloud.service('neutron')
        neutron.daemon.stop()
        neutron.start()
        neutron.wait()
        self.assertEqual(
            200, self.user.network.get('/ports').status_code)
