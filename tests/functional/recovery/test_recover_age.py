# SPDX-License-Identifier: Apache-2.0


"""How old a rebuild is, is a matter of who works on it, not of its owner."""

import datetime

import ddt
from nova.db.api import models as api_models
from nova.db.main import models
from oslo_upgradecheck import upgradecheck
from oslo_utils import timeutils

from cell0_rebuild.cmd import status
from tests.functional import base
from tests.functional.support import databases
from tests.functional.support import recover_base
from tests.functional.support import recovering
from tests.functional.support import updating

HOUR = 3600
MODELS = (('api', api_models.InstanceMapping),
          ('api', api_models.BuildRequest),
          ('api', api_models.RequestSpec),
          ('cell0', models.Instance), ('cell1', models.Instance))


class AgeTestCase(recover_base.RecoverTestCase):

    def let_hours_pass(self, *args, **kwargs):
        """Have all that is stored of the server be older than the limit."""
        for database, model in MODELS:
            databases.update(
                database, model, self.server['id'],
                updated_at=timeutils.utcnow() - datetime.timedelta(hours=2))

    def assert_left_alone(self):
        """Check that the server counts as in progress."""
        self.assertEqual((0, {}), recovering.recover(older_than=HOUR))

    def assert_stuck(self, state):
        """Check what the server is found to be."""
        code, found = recovering.recover(older_than=HOUR)
        self.assertEqual((0, {self.server['id']: state}), (code, {
            server: finding['state'] for server, finding in found.items()}))


@ddt.ddt
class OwnerTest(AgeTestCase):

    def setUp(self):
        super().setUp()
        updating.pin(self.server['id'])

    @ddt.data(
        ('on its way', recovering.SCHEDULER),
        ('not built', recovering.CAST),
        ('built', recovering.FINISH))
    @ddt.unpack
    def test_an_owner_who_updates_it_keeps_it_not_from_recovery(
            self, state, step):
        self.rebuild_until(step, before=recovering.crash)
        if state == 'built':
            self._wait_for_state_change(self.server, 'ACTIVE')
        self._update_after_hours()
        self.assert_stuck(state)

    @ddt.data(
        ('hidden', recovering.SHOW), ('leftovers', recovering.REMOVE))
    @ddt.unpack
    def test_nor_if_it_was_on_its_way_back(self, state, step):
        crash_at = {'hidden': recovering.CAST, 'leftovers': recovering.TAGS}
        self.useFixture(base.Interception(crash_at[state], before=_fail))
        self.rebuild_until(step, before=recovering.crash)
        self._update_after_hours()
        self.assert_stuck(state)

    def test_nor_if_the_update_comes_when_it_is_about_to_be_taken(self):
        self.rebuild(self.server)
        self.let_hours_pass()
        self.useFixture(base.Interception(
            recovering.TAKE_OVER, before=self._update))
        self.assert_stuck('on its way')
        self.assert_buried()

    def test_status_tells_of_it_as_well(self):
        self.rebuild(self.server)
        self._update_after_hours()
        result = status.Checks().check_stuck()
        self.assertEqual(upgradecheck.Code.WARNING, result.code)
        self.assertIn('1 rebuilds from cell0 were interrupted', result.details)

    def test_an_owner_who_locks_it_keeps_it_not_from_recovery(self):
        self.rebuild_until(recovering.CAST, before=recovering.crash)
        self.let_hours_pass()
        self.api.post_server_action(self.server['id'], {'lock': {}})
        self.assert_stuck('not built')
        self.assertTrue(self.api.get_server(self.server['id'])['locked'])

    def _update_after_hours(self):
        self.let_hours_pass()
        self._update()

    def _update(self, *args):
        server = self.api.get_server(self.server['id'])
        self.api.put_server(
            self.server['id'], {'server': updating.everything(server)})


def _fail(*args, **kwargs):
    raise RuntimeError('a step failed')


@ddt.ddt
class ConductorTest(AgeTestCase):

    def test_a_conductor_that_takes_it_makes_it_young(self):
        self.rebuild(self.server)
        self.let_hours_pass()
        self.useFixture(base.Interception(
            recovering.TAKE, after=recovering.crash))
        self.assertRaises(recovering.Crash, self.late.deliver)
        self.assert_left_alone()

    @ddt.data(recovering.TAGS, recovering.CAST)
    def test_a_conductor_that_works_on_it_makes_it_young_until(self, step):
        self.useFixture(base.Interception(
            recovering.SCHEDULER, before=self.let_hours_pass))
        self.rebuild_until(step, before=recovering.crash)
        self.assert_left_alone()

    def test_what_is_refreshed_while_it_is_looked_at_is_not_taken(self):
        self.rebuild(self.server)
        self.let_hours_pass()
        self.useFixture(base.Interception(
            recovering.TAKE_OVER,
            before=lambda *args: databases.update(
                'api', api_models.InstanceMapping, self.server['id'],
                updated_at=timeutils.utcnow())))
        before = databases.dump()['api']['request_specs']
        recovering.recover(older_than=HOUR)
        self.assertEqual(before, databases.dump()['api']['request_specs'])

    def test_a_recovery_that_dies_when_it_has_taken_it_leaves_it_old(self):
        self.rebuild(self.server)
        self.let_hours_pass()
        with base.Interception(
                recovering.BACK, before=recovering.crash):
            self.assertRaises(
                recovering.Crash, recovering.recover, older_than=HOUR)
        self.assert_stuck('on its way')
        self.assert_buried()
