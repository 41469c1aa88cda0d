# SPDX-License-Identifier: Apache-2.0

"""The commands of an operator, as processes of their own."""

import ddt

from tests.integration import base
from tests.integration import crashes_base
from tests.integration import processes

setUpModule = base.shared_cloud_for_burials


def _nowhere():
    [port] = processes.free_ports(1)
    return f'127.0.0.1:{port}'


def _no_database():
    url = f'mysql+pymysql://root@{_nowhere()}/api'
    return {'api_database': {
        'connection': url, 'max_retries': '1', 'retry_interval': '0'}}


class StatusTest(base.CloudTestCase):

    def check(self, expected, text, *changes):
        """Run the checks and look at how they end."""
        code, output = self.cloud.command(
            'status', 'upgrade', 'check', changes=changes)
        self.assertEqual(expected, code, output)
        self.assertIn(text, output)

    def test_where_all_is_well_it_exits_with_0(self):
        self.cloud.conductors(enabled=['one'])
        self.check(0, 'Result: Success')

    def test_without_a_conductor_it_warns_with_1(self):
        self.cloud.conductors(stock=['stock'])
        self.check(1, 'No nova-conductor with cell0-rebuild')

    def test_with_a_microversion_that_nova_has_not_it_fails_with_2(self):
        self.check(2, '9.9', {'cell0_rebuild': {'api_microversion': '9.9'}})

    def test_without_a_database_it_ends_all_checks_and_warns_with_1(self):
        self.cloud.conductors(enabled=['one'])
        self.check(
            1, 'A database cannot be asked: DBConnectionError', _no_database())


@ddt.ddt
class RecoverTest(crashes_base.CrashTestCase):

    def recover(self, *arguments, changes=()):
        return self.cloud.command(
            'manage', 'recover', '--older-than', '0', *arguments,
            changes=changes)

    def test_what_a_dry_run_would_mend_it_tells_with_3(self):
        server = self.cut_short('one')
        # The scheduler claims although nobody waits for it any more.
        processes.poll(lambda: self.cloud.allocations(server), 'its claim')
        before = self.cloud.dump()
        code, output = self.recover('--dry-run')
        self.assertEqual(3, code, output)
        self.assertRegex(output, f'{server} .* would be mended')
        self.assert_nothing_changed(before)
        self.assertEqual(0, self.recover()[0])
        self.assert_shown_once(server, 'ERROR')

    def test_without_placement_it_mends_the_rest_and_exits_with_1(self):
        server = self.cut_short('one')
        code, output = self.recover(changes=[
            {'placement': {'endpoint': f'http://{_nowhere()}'}}])
        self.assertEqual(1, code, output)
        self.assertIn('Placement cannot be asked', output)
        self.assert_shown_once(server, 'ERROR')
        self.assertEqual(0, self.recover()[0])

    @ddt.data(['--server', 'name'], ['--older-than', '-1'])
    def test_invalid_arguments_are_2(self, arguments):
        code, output = self.recover(*arguments)
        self.assertEqual(2, code, output)

    def test_without_a_database_it_ends_with_255(self):
        code, output = self.recover(changes=[_no_database()])
        self.assertEqual(255, code, output)
        self.assertIn('DBConnectionError', output)
