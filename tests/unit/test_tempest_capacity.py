# SPDX-License-Identifier: Apache-2.0

"""Capacity comes and goes through a proxy that is not always there."""

import collections
import http.server
import importlib.util
import itertools
import json
import threading
import types
import unittest
from unittest import mock

import fixtures
import testtools

HAS_TEMPEST = importlib.util.find_spec('tempest') is not None

if HAS_TEMPEST:
    from cell0_rebuild_tempest_plugin import capacity
    from tempest.lib import exceptions
    from tempest.lib.services.placement import placement_client


class Proxy(http.server.BaseHTTPRequestHandler):
    """Placement behind Apache, as far as making a trait goes."""

    def do_PUT(self):
        body = self.headers['Content-Length'] not in (None, '0')
        # Placement does not read a body, and Apache has nobody to give it to.
        status = 502 if body else self.server.answers.popleft()
        self.server.asked.append((self.path, status))
        self.send_response(status)
        self.send_header(
            'Content-Type', 'text/html; charset=iso-8859-1'
            if status in (502, 503) else 'application/json')
        self.send_header('Content-Length', '0')
        self.end_headers()

    def log_message(self, *arguments):
        """Write nothing."""


class NoAuthentication:
    """Lets Tempest's clients send what they send, to one address."""

    credentials = types.SimpleNamespace(user_id=None, tenant_name=None)

    def __init__(self, url):
        self._url = url

    def auth_request(self, method, url, headers, body, filters):
        return self._url + url, headers, body


@unittest.skipUnless(HAS_TEMPEST,
                     'Tempest is tried beside the newest Nova only')
class CapacityTest(testtools.TestCase):

    def setUp(self):
        super().setUp()
        self.proxy = http.server.ThreadingHTTPServer(('127.0.0.1', 0), Proxy)
        self.proxy.asked = []
        thread = threading.Thread(target=self.proxy.serve_forever)
        thread.start()
        self.addCleanup(thread.join)
        self.addCleanup(self.proxy.server_close)
        self.addCleanup(self.proxy.shutdown)
        self.cleanups = []
        url = f'http://127.0.0.1:{self.proxy.server_port}'
        self.capacity = capacity.Capacity(
            mock.Mock(placement_client=placement_client.PlacementClient(
                NoAuthentication(url), 'placement', 'RegionOne')),
            lambda *call: self.cleanups.append(call))
        self.useFixture(fixtures.MonkeyPatch(
            'cell0_rebuild_tempest_plugin.capacity.PAUSE', 0))

    def make_trait(self, *answers):
        """Make the trait; return with what status each request ended."""
        self.proxy.answers = collections.deque(answers)
        self.capacity.make_trait()
        self.assertEqual(
            {f'/traits/{self.capacity.trait}'},
            {path for path, _status in self.proxy.asked})
        return [status for _path, status in self.proxy.asked]

    def test_a_trait_is_made_by_one_request_without_a_body(self):
        self.assertEqual([201], self.make_trait(201))

    def test_a_proxy_that_cannot_reach_placement_is_asked_again(self):
        self.assertEqual(
            [502, 503, 201], self.make_trait(502, 503, 201))

    def test_a_trait_that_the_lost_request_has_made_is_good(self):
        self.assertEqual([502, 204], self.make_trait(502, 204))

    def test_a_proxy_that_never_reaches_placement_is_an_error(self):
        error = self.assertRaises(
            exceptions.UnexpectedContentType, self.make_trait,
            *[503] * 100)
        self.assertEqual(503, error.resp.status)
        self.assertEqual(capacity.ATTEMPTS, len(self.proxy.asked))

    def test_any_other_answer_is_an_error_at_once(self):
        self.assertRaises(exceptions.ServerFault, self.make_trait, 500)
        self.assertEqual(1, len(self.proxy.asked))

    def test_a_trait_that_may_have_been_made_is_deleted_at_the_end(self):
        self.assertRaises(exceptions.ServerFault, self.make_trait, 500)
        [(_insist, *call)] = self.cleanups
        self.assertEqual(self.capacity.trait, call[-1])


@unittest.skipUnless(HAS_TEMPEST,
                     'Tempest is tried beside the newest Nova only')
class SharedProviderTest(testtools.TestCase):

    def setUp(self):
        super().setUp()
        hypervisor = {'id': 'provider', 'state': 'up', 'status': 'enabled',
                      'service': {'host': 'host'}}
        hypervisors = mock.Mock()
        hypervisors.get.return_value = (
            None, json.dumps({'hypervisors': [hypervisor]}))
        self.providers = mock.Mock()
        self.providers.list_resource_provider_traits.side_effect = (
            {'traits': [], 'resource_provider_generation': generation}
            for generation in itertools.count())
        self.capacity = capacity.Capacity(
            mock.Mock(hypervisor_client=hypervisors,
                      resource_providers_client=self.providers),
            lambda *call: None)

    def come_back(self, *answers):
        """Let capacity come back; return with which generations it was."""
        update = self.providers.update_resource_provider_traits
        update.side_effect = answers
        self.assertEqual('host', self.capacity.come_back())
        return [call.kwargs['resource_provider_generation']
                for call in update.call_args_list]

    def test_a_provider_that_has_changed_is_looked_at_again(self):
        self.assertEqual(
            [0, 1], self.come_back(exceptions.Conflict(), None))

    def test_a_provider_that_changes_during_the_write_is_so_too(self):
        self.assertEqual(
            [0, 1], self.come_back(exceptions.ServerFault(), None))

    def test_an_error_that_stays_is_an_error(self):
        self.assertRaises(exceptions.ServerFault, self.come_back,
                          *[exceptions.ServerFault()] * 100)
        self.assertEqual(
            capacity.ATTEMPTS,
            self.providers.update_resource_provider_traits.call_count)
