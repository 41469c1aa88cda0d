# SPDX-License-Identifier: Apache-2.0

"""The waiting service asks nova-api as a member of the owner's project."""

import fixtures
from keystoneauth1 import exceptions as ks_exc
from oslo_config import cfg
from oslo_utils.fixture import uuidsentinel
import webob

from cell0_rebuild import exceptions
from cell0_rebuild.wait.effects import rebuilds
from cell0_rebuild.wait import values
from tests.functional import base
from tests.functional.support import databases
from tests.functional.support import races_base
from tests.functional.support import recovering
from tests.functional.wait import keystone

Outcome = values.Outcome


class RebuildsTestCase(base.FunctionalTestCase):
    """A buried server, and Keystone before nova-api."""

    def setUp(self):
        super().setUp()
        self.keystone = self.useFixture(
            keystone.KeystoneFixture(self.api_fixture))
        self.api = self.api_fixture.api
        self.api.microversion = base.STOCK
        self.server = self.bury()
        self._start_compute('host1')
        self.rebuilds = rebuilds.RebuildClient(cfg.CONF)

    def ask(self, server=None):
        """Ask for the rebuild of a server."""
        server = server or self.server
        return self.rebuilds.request(
            server['id'], server['tenant_id'], server['image']['id'])

    def assert_outcome(self, outcome, *answers):
        """Ask, with these answers of nova-api; return the text."""
        self.keystone.answers += answers
        before = databases.dump()
        answer = self.ask()
        self.assertEqual(outcome, answer.outcome, answer.text)
        self.assertEqual(
            [], databases.differences(before, databases.dump()))
        return answer.text

    def test_the_server_is_rebuilt_as_it_was_asked_for(self):
        self.assertEqual(values.Answer(Outcome.ACCEPTED), self.ask())
        server = self.active(self.server)
        for same in ('id', 'name', 'tenant_id', 'user_id', 'image'):
            self.assertEqual(self.server[same], server[same])

    def test_the_token_is_of_the_project_of_the_server(self):
        self.ask()
        self.assertEqual([self.server['tenant_id']], self.keystone.tokens)

    def test_a_project_keeps_its_token(self):
        self.ask()
        self.ask()
        self.assertEqual(1, len(self.keystone.tokens))

    def test_a_server_that_is_on_its_way_is_busy(self):
        self.useFixture(races_base.HeldMessage())
        self.ask()
        self.assertEqual(Outcome.BUSY, self.ask().outcome)

    def test_a_server_whose_burial_has_not_ended_is_busy(self):
        databases.leave_burial(self.server['id'])
        self.assert_outcome(Outcome.BUSY)

    def test_a_locked_server_is_blocked(self):
        self.api.post_server_action(self.server['id'], {'lock': None})
        self.assertIn('locked', self.assert_outcome(Outcome.BLOCKED))

    def test_what_is_over_quota_is_told(self):
        self.flags(cores=0, group='quota')
        self.assertIn('cores', self.assert_outcome(Outcome.OVER_QUOTA))

    def test_a_deleted_server_is_gone(self):
        self._delete_server(self.server)
        self.assert_outcome(Outcome.GONE)

    def test_a_project_without_the_role_is_told_from_a_wrong_password(self):
        self.keystone.projects = [uuidsentinel.another]
        self.assert_outcome(Outcome.NO_ROLE)
        self.keystone.password = 'changed'
        self.assert_outcome(Outcome.BAD_CREDENTIALS)

    def test_a_role_that_policy_refuses_is_no_role(self):
        self.policy.set_rules(
            {'os_compute_api:servers:rebuild': '!'}, overwrite=False)
        self.assertIn('Policy', self.assert_outcome(Outcome.NO_ROLE))

    def test_services_that_do_not_answer_are_away(self):
        for status in (429, 502, 503, 504):
            self.assert_outcome(Outcome.AWAY, webob.Response(status=status))
        self.keystone.down = True
        self.rebuilds = rebuilds.RebuildClient(cfg.CONF)
        self.assert_outcome(Outcome.NO_KEYSTONE)

    def test_a_service_that_nova_api_cannot_ask_is_told_from_a_refusal(self):
        self.useFixture(fixtures.MockPatch(
            recovering.PROBE,
            side_effect=exceptions.NoConductor()))
        self.assertIn('no nova-conductor', self.assert_outcome(Outcome.LATER))

    def test_a_request_that_gets_no_answer_is_told_from_no_token(self):
        self.useFixture(fixtures.MockPatch(
            'keystoneauth1.adapter.Adapter.post',
            side_effect=ks_exc.ConnectTimeout('Too long.')))
        self.assertEqual('Too long.', self.assert_outcome(Outcome.AWAY))

    def test_a_request_that_fails_is_told_from_an_outage(self):
        self.assertIn('Unexpected', self.assert_outcome(
            Outcome.FAILED, keystone.refusal(500, 'Unexpected')))

    def test_a_project_without_nova_api_is_told_from_an_outage(self):
        self.keystone.without_endpoint = {self.server['tenant_id']}
        self.assert_outcome(Outcome.NO_ENDPOINT)

    def test_an_answer_of_something_else_raises_nothing(self):
        self.assertEqual('409 Conflict', self.assert_outcome(
            Outcome.BLOCKED, webob.Response('<html>', status=409)))

    def test_options_without_a_plugin_are_refused(self):
        self.flags(auth_type=None, group=keystone.GROUP)
        error = self.assertRaises(
            rebuilds.WrongOptions, rebuilds.RebuildClient, cfg.CONF)
        self.assertIn('[cell0_rebuild_wait] auth_type', str(error))

    def test_a_plugin_without_projects_is_refused(self):
        self.flags(auth_type='http_basic', group=keystone.GROUP)
        error = self.assertRaises(
            rebuilds.WrongOptions, rebuilds.RebuildClient, cfg.CONF)
        self.assertIn('auth_type', str(error))


class StockMicroversionTestCase(base.FunctionalTestCase):
    """Nova's own microversion wants an image."""

    options = {'api_microversion': base.STOCK}

    def test_the_server_keeps_its_image(self):
        server = self.bury()
        self._start_compute('host1')
        self.useFixture(keystone.KeystoneFixture(self.api_fixture))
        answer = rebuilds.RebuildClient(cfg.CONF).request(
            server['id'], server['tenant_id'], server['image']['id'])
        self.assertEqual(Outcome.ACCEPTED, answer.outcome, answer.text)
        self.assertEqual(server['image'], self.active(server)['image'])
