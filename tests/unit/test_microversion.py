# SPDX-License-Identifier: Apache-2.0

"""The REST gate."""

import copy
import itertools
import operator

import ddt
from nova.api.openstack import api_version_request
from nova.api.openstack.compute import versions
from nova.api.openstack.compute import versionsV21
from nova.api.openstack import wsgi
from nova import exception
from oslo_config import cfg
from oslo_config import fixture as config_fixture
import testtools

from cell0_rebuild import activation
from cell0_rebuild.api import microversion
from cell0_rebuild.api import microversion_range
from cell0_rebuild import conf
from tests import releases

MAXIMUM = releases.STOCK
ADDED = releases.ADDED
ABOVE = f'{ADDED[:2]}{int(ADDED[2:]) + 1}'


class _TestCase(testtools.TestCase):

    def enable(self, number=None):
        """Patch the API.

        :param number: the option api_microversion.
        """
        conf.register(cfg.CONF)
        config = self.useFixture(config_fixture.Config(cfg.CONF))
        config.config(group='cell0_rebuild', api_microversion=number)
        patches = activation.load(('api',))
        self.addCleanup(patches.remove)
        patches.install()

    def request(self, number=None, header='OpenStack-API-Version'):
        """Return a request for a microversion."""
        request = wsgi.Request.blank('/v2.1/')
        if number is not None:
            service = 'compute ' if header.startswith('OpenStack') else ''
            request.headers[header] = service + number
        return request

    def version(self, number=None, **kwargs):
        """Return the version that Nova serves a request as."""
        request = self.request(number, **kwargs)
        request.set_api_version_request()
        return request.api_version_request

    def assert_stock(self, served, number):
        """Check that a request is served as Nova itself does."""
        version = self.version(number)
        self.assertIs(api_version_request.APIVersionRequest, type(version))
        self.assertEqual(served, version.get_string())

    def refused(self, number):
        """Return the message with which a microversion is refused."""
        return str(self.assertRaises(
            exception.InvalidGlobalAPIVersion, self.version, number))

    def answer(self, number=None, version='v2.1'):
        """Return Nova's answer to a request for the versions document."""
        request = self.request(number)
        request.environ['wsgiorg.routing_args'] = (
            [], {'action': 'show', 'id': version})
        return request.get_response(
            wsgi.Resource(versionsV21.VersionsController()))


@ddt.ddt
class AddedNumberTest(_TestCase):

    def setUp(self):
        super().setUp()
        self.enable()

    @ddt.data(*itertools.product((ADDED, 'latest'), (
        'OpenStack-API-Version', 'X-OpenStack-Nova-API-Version')))
    @ddt.unpack
    def test_the_added_number_and_latest_are_marked(self, number, header):
        self.assertIsInstance(
            self.version(number, header=header), microversion.AddedVersion)

    @ddt.data(('2.1', '2.1'), ('2.93', '2.93'), (MAXIMUM, MAXIMUM),
              (None, '2.1'))
    @ddt.unpack
    def test_a_stock_number_or_none_is_served_as_by_nova(self, number, served):
        self.assert_stock(served, number)

    def test_the_number_of_another_service_is_not_meant(self):
        request = self.request()
        request.headers['OpenStack-API-Version'] = f'volume {ADDED}'
        request.set_api_version_request()
        self.assertEqual('2.1', request.api_version_request.get_string())

    @ddt.data(ABOVE, f'{ADDED}0', '3.0', f'3.{ADDED[2:]}')
    def test_anything_above_is_refused_with_the_range_that_is_shown(
        self, number
    ):
        self.assertIn(
            f'Version {number} is not supported by the API. Minimum is 2.1 '
            f'and maximum is {ADDED}.', self.refused(number))

    def test_anything_below_is_refused_with_the_range_that_is_shown(self):
        self.assertIn(
            f'Version 2.0 is not supported by the API. Minimum is 2.1 and '
            f'maximum is {ADDED}.', self.refused('2.0'))

    @ddt.data('abc', '2', '2.0105', f'{ADDED}.1')
    def test_what_is_no_number_is_refused_as_ever(self, number):
        self.assertRaises(exception.InvalidAPIVersionString,
                          self.version, number)

    @ddt.data(ADDED, 'latest')
    def test_the_answer_names_the_added_number(self, number):
        headers = self.answer(number).headers
        self.assertEqual(f'compute {ADDED}', headers['OpenStack-API-Version'])
        self.assertEqual(ADDED, headers['X-OpenStack-Nova-API-Version'])

    def test_the_answer_to_a_stock_number_names_that(self):
        headers = self.answer(MAXIMUM).headers
        self.assertEqual(
            f'compute {MAXIMUM}', headers['OpenStack-API-Version'])

    def test_a_number_above_is_answered_406(self):
        answer = self.answer(ABOVE)
        self.assertEqual(406, answer.status_int)
        self.assertIn(f'maximum is {ADDED}', answer.text)

    @ddt.data(None, '2.1', MAXIMUM, ADDED)
    def test_the_versions_document_shows_the_added_number(self, number):
        shown = self.answer(number).json['version']
        self.assertEqual(ADDED, shown['version'])
        self.assertEqual('2.1', shown['min_version'])

    def test_the_document_of_the_old_api_is_unchanged(self):
        shown = self.answer(version='v2.0').json['version']
        self.assertEqual('', shown['version'])


@ddt.ddt
class StockNumberTest(_TestCase):

    def setUp(self):
        super().setUp()
        self.before = copy.deepcopy(versions.VERSIONS)
        self.enable('2.93')

    def test_the_versions_document_is_unchanged(self):
        self.assertEqual(self.before, versions.VERSIONS)
        self.assertEqual(MAXIMUM, self.answer().json['version']['version'])

    def test_one_above_the_maximum_is_refused_as_by_nova(self):
        self.assertIn(
            f'Version {ADDED} is not supported by the API. Minimum is 2.1 and '
            f'maximum is {MAXIMUM}.', self.refused(ADDED))

    @ddt.data(('2.1', '2.1'), ('2.93', '2.93'), (MAXIMUM, MAXIMUM),
              ('latest', MAXIMUM))
    @ddt.unpack
    def test_every_number_is_served_as_by_nova(self, number, served):
        self.assert_stock(served, number)


class AddedVersionTest(_TestCase):

    def setUp(self):
        super().setUp()
        self.enable()
        self.added = self.version(ADDED)
        self.maximum = api_version_request.max_api_version()

    def test_it_prints_the_added_number(self):
        self.assertEqual(ADDED, self.added.get_string())

    def test_it_is_neither_above_nor_below_the_maximum(self):
        self.assertEqual(['eq', 'ge', 'le'], true_of(self.added, self.maximum))
        self.assertEqual(['eq', 'ge', 'le'], true_of(self.maximum, self.added))

    def test_it_is_above_any_older_number(self):
        older = api_version_request.APIVersionRequest('2.92')
        self.assertEqual(['ge', 'gt', 'ne'], true_of(self.added, older))
        self.assertEqual(['le', 'lt', 'ne'], true_of(older, self.added))

    def test_it_is_in_ranges_that_end_with_the_maximum(self):
        self.assertTrue(self.added.matches(self.maximum, self.maximum))

    def test_it_supports_what_the_maximum_supports_and_no_more(self):
        request = self.request(ADDED)
        request.set_api_version_request()
        self.assertTrue(api_version_request.is_supported(request, MAXIMUM))
        self.assertFalse(api_version_request.is_supported(request, ADDED))


def true_of(one, other):
    """Return the comparisons that are true of two versions."""
    return [name for name in ('eq', 'ge', 'gt', 'le', 'lt', 'ne')
            if getattr(operator, name)(one, other)]


@ddt.ddt
class RebuildActionTest(_TestCase):

    def act(self, number, body):
        """Call the wrapper of the action.

        :returns: the gate and the body that Nova's action sees.
        """
        request = self.request(number)
        request.set_api_version_request()

        def action(req, id, body):
            return microversion.gate(), body

        return microversion.rebuild_action(
            action, None, request, 'an id', body=body)

    @ddt.data((None, ADDED, True), (None, 'latest', True),
              (None, MAXIMUM, False), (None, '2.1', False),
              (None, None, False),
              ('2.93', '2.92', False), ('2.93', '2.93', True),
              ('2.92', '2.93', True), ('2.93', 'latest', True),
              ('2.1', None, True))
    @ddt.unpack
    def test_the_gate_is_open_to_the_configured_numbers(
        self, option, number, is_open
    ):
        self.enable(option)
        gate, _ = self.act(number, {'rebuild': {'imageRef': 'an image'}})
        self.assertIs(is_open, gate.is_open)

    def test_the_gate_is_shut_outside_a_rebuild(self):
        self.enable()
        self.act(ADDED, {'rebuild': {}})
        self.assertEqual(
            microversion.Gate(is_open=False, keeps_image=False),
            microversion.gate())

    def test_the_gate_is_shut_after_a_rebuild_that_failed(self):
        self.enable()
        request = self.request(ADDED)
        request.set_api_version_request()
        self.assertRaises(
            ZeroDivisionError, microversion.rebuild_action,
            lambda req, id, body: 1 / 0, None, request, 'an id', {})
        self.assertFalse(microversion.gate().is_open)

    def test_no_image_under_the_added_number_keeps_the_image(self):
        self.enable()
        gate, _ = self.act(ADDED, {'rebuild': {'name': 'a name'}})
        self.assertTrue(gate.keeps_image)

    def test_no_image_under_the_added_number_passes_the_schema(self):
        self.enable()
        sent = {'rebuild': {'name': 'a name'}}
        _, body = self.act(ADDED, sent)
        self.assertEqual({'name', 'imageRef'}, set(body['rebuild']))
        self.assertEqual({'rebuild': {'name': 'a name'}}, sent)

    def test_an_image_under_the_added_number_is_taken(self):
        self.enable()
        sent = {'rebuild': {'imageRef': 'an image'}}
        gate, body = self.act(ADDED, sent)
        self.assertFalse(gate.keeps_image)
        self.assertIs(sent, body)

    @ddt.data(None, '2.93')
    def test_no_image_under_a_stock_number_is_left_to_nova(self, option):
        self.enable(option)
        sent = {'rebuild': {}}
        gate, body = self.act(MAXIMUM, sent)
        self.assertFalse(gate.keeps_image)
        self.assertIs(sent, body)

    @ddt.data({}, None, [], {'rebuild': None}, {'rebuild': 'now'},
              {'rebuild': []}, 'rebuild')
    def test_a_body_that_makes_no_sense_is_left_to_nova(self, sent):
        self.enable()
        gate, body = self.act(ADDED, sent)
        self.assertFalse(gate.keeps_image)
        self.assertEqual(sent, body)


class NumbersTest(_TestCase):

    def test_the_range_of_this_nova_is_known(self):
        self.assertEqual(('2.1', MAXIMUM), microversion_range.stock_range())

    def test_what_only_looks_like_a_number_is_not_stock(self):
        found = [number for number in ('2.93\n', ' 2.93', '+2.93', '')
                 if microversion_range.is_stock(number)]
        self.assertEqual([], found)

    def test_one_more_than_the_maximum_is_added(self):
        self.enable()
        self.assertEqual(ADDED, microversion_range.added())

    def test_nothing_is_added_to_a_stock_number(self):
        self.enable('2.1')
        self.assertIsNone(microversion_range.added())
