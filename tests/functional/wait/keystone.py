# SPDX-License-Identifier: Apache-2.0

"""Stands for Keystone: gives tokens that the Nova of a test takes."""

import json
import uuid

import fixtures
from keystoneauth1 import loading
from oslo_config import cfg
from requests import adapters
import webob
import webob.dec
from wsgi_intercept import interceptor

from cell0_rebuild.wait import options

GROUP = options.GROUP.name
USER = 'waiting-service'
PASSWORD = 'secret'


class KeystoneFixture(fixtures.Fixture):
    """Keystone, and the nova-api of a test behind it.

    :ivar down: whether it answers 503.
    :ivar password: of the service user.
    :ivar without_endpoint: projects whose catalog has no nova-api.
    :ivar projects: in which the user has a role; None means in all.
    :ivar refused: how many tokens it did not give.
    :ivar tokens: the projects of the tokens that it gave.
    :ivar requests: ``(method, path, body)`` of each request to nova-api.
    :ivar answers: what to answer in place of nova-api, oldest first.
    """

    def __init__(self, osapi):
        """Stand before the application of a nova-api.

        :param osapi: the fixture that runs it.
        """
        self._osapi = osapi
        self.down = False
        self.refused = 0
        self.password = PASSWORD
        self.projects = None
        self.without_endpoint = set()
        self.tokens, self.requests, self.answers = [], [], []

    def _setUp(self):
        # The interceptor knows no socket options.
        self.useFixture(fixtures.MonkeyPatch(
            'keystoneauth1.session.TCPKeepAliveAdapter.init_poolmanager',
            adapters.HTTPAdapter.init_poolmanager))
        self.auth_url = self._serve(self._keystone) + 'v3'
        self._compute_url = self._serve(self._nova) + 'v2.1'
        self._set_options()

    def _serve(self, application):
        url = f'http://{uuid.uuid4()}:80/'
        intercept = interceptor.RequestsInterceptor(
            lambda: application, url=url)
        intercept.install_intercept()
        self.addCleanup(intercept.uninstall_intercept)
        return url

    def _set_options(self):
        options.register(cfg.CONF)
        cfg.CONF.register_opts(
            loading.get_auth_plugin_conf_options('password'), GROUP)
        # Some are required: every later test would have to set them.
        self.addCleanup(cfg.CONF._groups.pop, GROUP)
        self.addCleanup(options.GROUP._opts.clear)
        for name, value in {
                'auth_type': 'password', 'auth_url': self.auth_url,
                'username': USER, 'user_domain_name': 'Default',
                'password': PASSWORD,
                # As nova.conf has it for other services.
                'project_name': 'service', 'project_domain_name': 'Default',
        }.items():
            cfg.CONF.set_override(name, value, GROUP)

    @webob.dec.wsgify
    def _keystone(self, request):
        if self.down:
            self.refused += 1
            return webob.Response(status=503)
        if request.method == 'GET':
            return webob.Response(json_body={'version': {
                'id': 'v3.14', 'status': 'stable', 'links': [
                    {'rel': 'self', 'href': self.auth_url}]}})
        asked = request.json['auth']
        user = asked['identity']['password']['user']
        project = asked.get('scope', {}).get('project', {}).get('id')
        if user['password'] != self.password or (
                project and self.projects is not None
                and project not in self.projects):
            self.refused += 1
            return webob.Response(status=401, json_body={'error': {
                'code': 401, 'title': 'Unauthorized',
                'message': 'The request you have made requires '
                           'authentication.'}})
        self.tokens.append(project)
        return webob.Response(
            status=201, headers={'X-Subject-Token': f'{USER}:{project}'},
            json_body={'token': {
                'methods': ['password'], 'user': {
                    'id': USER, 'name': USER,
                    'domain': {'id': 'default', 'name': 'Default'}},
                'issued_at': '2020-01-01T00:00:00.000000Z',
                'expires_at': '2099-01-01T00:00:00.000000Z',
                **({'project': {
                    'id': project, 'name': project,
                    'domain': {'id': 'default', 'name': 'Default'}},
                    'roles': [{'id': 'member', 'name': 'member'}],
                    'catalog': self._catalog(project)} if project else {})}})

    def _catalog(self, project):
        if project in self.without_endpoint:
            return []
        return [{'type': 'compute', 'name': 'nova', 'id': 'nova',
                 'endpoints': [{
                     'interface': interface, 'id': interface,
                     'region': 'here', 'region_id': 'here',
                     'url': self._compute_url,
                 } for interface in ('internal', 'public')]}]

    @webob.dec.wsgify
    def _nova(self, request):
        self.requests.append((
            request.method, request.path,
            json.loads(request.body) if request.body else None))
        if self.answers:
            return self.answers.pop(0)
        user, project = request.headers['X-Auth-Token'].split(':')
        request.headers.update({
            'X-Auth-User': user, 'X-User-Id': user,
            'X-Auth-Project-Id': project, 'X-Roles': 'member,reader'})
        return request.get_response(self._osapi.app())


def refusal(code, message):
    """Return an answer as nova-api words it."""
    return webob.Response(status=code, json_body={
        'fault': {'code': code, 'message': message}})
