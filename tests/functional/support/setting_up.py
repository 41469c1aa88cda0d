# SPDX-License-Identifier: Apache-2.0

"""Less to set up for each test: what none uses, and what is as it was."""

import functools

import fixtures
import jsonschema
from nova.api.openstack.compute import routes
from nova.api.openstack import urlmap
import nova.conf
from nova.tests import fixtures as nova_fixtures
from placement.db.sqlalchemy import migration

_placement_schema: list[str] = []
_Validator = jsonschema.validators.validator_for({})
_checked: dict[int, dict] = {}


class LeanSetUp(fixtures.Fixture):
    """Takes half a test's set-up away. Use it before that of Nova's."""

    def _setUp(self):
        for name, replacement in (
                ('nova.tests.fixtures.PolicyFixture', _NoPolicy),
                ('nova.tests.fixtures.DefaultFlavorsFixture', _QuietFlavors),
                ('nova.api.openstack.urlmap.urlmap_factory', _lean_api),
                ('placement.db.sqlalchemy.migration.create_schema',
                 _replayed)):
            self.useFixture(fixtures.MonkeyPatch(name, replacement))
        self.useFixture(fixtures.MockPatchObject(
            _Validator, 'check_schema', _check_once))


class _NoPolicy(fixtures.Fixture):
    """Stands for the policy that Nova's test cases load, and then replace.

    Both are hundreds of rules.
    """

    def _setUp(self):
        nova.conf.CONF.set_override('policy_dirs', [], group='oslo_policy')


class _QuietFlavors(nova_fixtures.DefaultFlavorsFixture):
    """Creates the flavors before anybody can look at notifications."""

    def setUp(self):
        with fixtures.MonkeyPatch(
                'nova.objects.Flavor._send_notification',
                lambda flavor, action: None):
            super().setUp()


_make_urlmap, _create_schema = urlmap.urlmap_factory, migration.create_schema
_check_schema = _Validator.check_schema


def _lean_api(loader, global_conf, **paths):
    """Load the API once, and each of its controllers.

    Under ``/v2`` Nova loads it again, which no client of the tests asks.
    """
    paths.pop('/v2/+')
    with fixtures.MonkeyPatch(
            'nova.api.openstack.compute.routes.ROUTE_LIST',
            tuple(_sharing(routes.ROUTE_LIST))):
        return _make_urlmap(loader, global_conf, **paths)


def _sharing(found):
    """Yield routes of the API, with one controller where Nova makes many."""
    make = functools.cache(functools.cache)
    for path, methods in found:
        yield path, methods if isinstance(methods, str) else {
            method: [make(controller), action]
            for method, (controller, action) in methods.items()}


def _replayed(engine):
    """Create the tables of Placement as those of Nova: from a script."""
    connection = engine.raw_connection()
    try:
        if _placement_schema:
            connection.executescript(_placement_schema[0])
        else:
            _create_schema(engine)
            _placement_schema.append('\n'.join(connection.iterdump()))
    finally:
        connection.close()


def _check_once(schema, *args, **kwargs):
    """Check a schema of Placement's once, and not for each request."""
    if id(schema) not in _checked:
        _check_schema(schema, *args, **kwargs)
        _checked[id(schema)] = schema
