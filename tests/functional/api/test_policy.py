# SPDX-License-Identifier: Apache-2.0

"""Nova's policy of a rebuild, for buried servers as for launched ones."""

import collections

from nova.api import auth
import nova.conf
from nova.tests import fixtures as nova_fixtures
from nova.tests.functional.api import client as api_client
from oslo_serialization import jsonutils
from oslo_utils.fixture import uuidsentinel

from tests.functional import base
from tests.functional.support import databases

REBUILD = 'os_compute_api:servers:rebuild'
TRUSTED_CERTS = f'{REBUILD}:trusted_certs'

Persona = collections.namedtuple('Persona', 'user project roles')

_READER = ('reader',)
_MEMBER = (*_READER, 'member')
_MANAGER = (*_MEMBER, 'manager')
_ADMIN = (*_MANAGER, 'admin')
_OURS, _OTHERS = uuidsentinel.project, uuidsentinel.another_project

# Without a project, the scope is the system.
PERSONAS = {
    'owner': Persona('owner', _OURS, _MEMBER),
    'other member': Persona('colleague', _OURS, _MEMBER),
    'reader': Persona('auditor', _OURS, _READER),
    'no role': Persona('guest', _OURS, ('guest',)),
    'manager': Persona('manager', _OURS, _MANAGER),
    'project admin': Persona('admin of it', _OURS, _ADMIN),
    'foreign member': Persona('stranger', _OTHERS, _MEMBER),
    'foreign manager': Persona('boss', _OTHERS, _MANAGER),
    'admin': Persona('operator', _OTHERS, _ADMIN),
    'service': Persona('cinder', _OTHERS, ('service',)),
    'system reader': Persona('root reader', None, _READER),
    'system admin': Persona('root', None, _ADMIN),
}

_create_context = auth.NovaKeystoneContext._create_context


class Client(api_client.TestOpenStackClient):
    """Sends what keystonemiddleware makes of the token of a persona."""

    def __init__(self, persona, base_url):
        super().__init__(persona.user, base_url, roles=persona.roles)
        self._scope = {'X-Project-Id': persona.project} if (
            persona.project) else {'OpenStack-System-Scope': 'all'}

    def request(self, url, method='GET', body=None, headers=None):
        return super().request(
            url, method, body, {**headers, **self._scope})


class PolicyTestCase(base.FunctionalTestCase):
    """A buried server that no host is large enough for, a launched one."""

    new_defaults = True
    rules: dict[str, str] = {}

    def setUp(self):
        super().setUp()
        self.flags(enforce_new_defaults=self.new_defaults,
                   group='oslo_policy')
        # A newer oslo.policy always does.
        if 'enforce_scope' in nova.conf.CONF.oslo_policy:
            self.flags(enforce_scope=True, group='oslo_policy')
        self.policy = self.useFixture(
            nova_fixtures.OverridePolicyFixture(rules_in_file=self.rules))
        self.useFixture(base.fixtures.MonkeyPatch(
            'nova.api.auth.NovaKeystoneContext._create_context',
            staticmethod(_create_context)))
        self.flags(ram=-1, group='quota')
        large = self._create_large_flavor()
        self._start_compute('host1')
        self.api = self.client('owner')
        self.buried = self.bury(flavorRef=large)
        self.launched = self._create_server(networks='none')

    def _create_large_flavor(self):
        self.api_fixture.admin_api = self.client('project admin')
        return self._create_flavor(id='large', memory_mb=10 ** 8)

    def client(self, name):
        """Return a client for a persona."""
        client = Client(PERSONAS[name], self.api_fixture.api.base_url)
        client.microversion = base.STOCK
        return client

    def ask(self, name, server, **body):
        """Have a persona rebuild a server; return the code and the body."""
        client = self.client(name)
        client.microversion = base.ADDED
        answer = client.api_request(
            f'servers/{server["id"]}/action', method='POST',
            body=jsonutils.dumps({'rebuild': body}))
        return answer.status_code, answer.json()

    def answers(self, **body):
        """Return {persona: code}, the same for both servers."""
        found = {}
        for name in PERSONAS:
            found[name], theirs = self.ask(name, self.launched, **body)
            if found[name] == 202:
                self._wait_for_state_change(self.launched, 'ACTIVE')
            before = databases.dump()
            code, ours = self.ask(name, self.buried, **body)
            self.assertEqual(found[name], code, f'{name}: {ours}')
            if code == 202:
                self.buried_again(self.buried)
                self.assertEqual(
                    sorted(theirs['server']), sorted(ours['server']), name)
            else:
                self.assertEqual(
                    [], databases.differences(before, databases.dump()), name)
                self.assertEqual(
                    str(theirs).replace(self.launched['id'], 'UUID'),
                    str(ours).replace(self.buried['id'], 'UUID'), name)
        return found

    def assert_allowed(self, *names, **body):
        """Check who may rebuild; all others are refused with 403 or 404."""
        found = self.answers(**body)
        # Nova knows no servers of a system, and answers so for any server.
        self.assertEqual(500, found.pop('system reader'))
        self.assertEqual(sorted(names), sorted(
            name for name, code in found.items() if code == 202))
        self.assertEqual([], [
            (name, code) for name, code in found.items()
            if code not in (202, 403, 404)])
        self.assertEqual(404, found['foreign member'])
        return found


class DefaultTest(PolicyTestCase):

    def test_the_default_policy_is_that_of_a_launched_server(self):
        self.assert_allowed(
            'owner', 'other member', 'manager', 'project admin', 'admin')


class OldDefaultsTest(PolicyTestCase):

    new_defaults = False

    def test_with_the_old_defaults_it_is_that_of_a_launched_server(self):
        self.assert_allowed(
            'owner', 'other member', 'manager', 'reader', 'no role',
            'project admin', 'admin')


class ForbiddenTest(PolicyTestCase):

    rules = {REBUILD: '!'}

    def test_a_policy_file_that_forbids_rebuilds_forbids_these(self):
        found = self.assert_allowed()
        self.assertEqual(403, found['owner'])
        self.assertEqual(403, found['admin'])


class OwnerOnlyTest(PolicyTestCase):

    rules = {REBUILD: 'user_id:%(user_id)s'}

    def test_a_policy_file_that_allows_the_user_allows_nobody_else(self):
        found = self.assert_allowed('owner')
        self.assertEqual(403, found['other member'])


class TrustedCertificatesTest(PolicyTestCase):

    rules = {TRUSTED_CERTS: 'role:manager'}

    def test_who_may_not_give_certificates_may_not_here_either(self):
        self.assert_allowed('manager', 'project admin', 'admin',
                            trusted_image_certificates=None)

    def test_who_gives_none_needs_no_leave(self):
        code, _ = self.ask('owner', self.buried)
        self.assertEqual(202, code)
        self.buried_again(self.buried)
