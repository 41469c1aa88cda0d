# SPDX-License-Identifier: Apache-2.0

"""A database of request specs, as Nova and the package write them."""

import contextlib
import re

from nova import context
from nova.db.api import api as api_db_api
from nova.db.api import models
from nova import objects
from nova.objects import request_spec
from nova import test
from nova.tests import fixtures as nova_fixtures
from nova.tests.unit import fake_request_spec
import sqlalchemy

from cell0_rebuild import activation
from cell0_rebuild.move import lock
from cell0_rebuild import objects as ours
from cell0_rebuild import retained
from tests.unit import specs


class TestCase(test.NoDBTestCase):
    """Has the API's database, and our RequestSpec registered."""

    USES_DB_SELF = True
    extensions = ('objects',)

    def setUp(self):
        super().setUp()
        self.use_databases()
        self.context = context.get_admin_context()
        self.patches = activation.load(self.extensions)
        self.addCleanup(self.patches.remove)
        self.patches.install()

    def use_databases(self):
        """Have Nova use databases of this test."""
        self.useFixture(nova_fixtures.Database(database='api'))
        self.useFixture(nova_fixtures.Database(database='main'))

    def create(self, **fields):
        """Store a RequestSpec and return the UUID of its server."""
        spec = fake_request_spec.fake_spec_obj(remove_id=True)
        spec._context = self.context
        for name, value in fields.items():
            setattr(spec, name, value)
        spec.create()
        return spec.instance_uuid

    def load(self, uuid):
        """Load a RequestSpec as Nova does."""
        return objects.RequestSpec.get_by_instance_uuid(self.context, uuid)

    def load_stock(self, uuid):
        """Load a RequestSpec as a Nova without the package does."""
        return request_spec.RequestSpec.get_by_instance_uuid(
            self.context, uuid)

    def change(self, spec):
        """Change and save a spec, and return what is kept afterwards."""
        spec.availability_zone = 'another'
        spec.save()
        found = self.load(spec.instance_uuid)
        self.assertEqual('another', found.availability_zone)
        return found.retained

    def costs_of_a_save(self):
        """Return the statements of Nova's save and of ours.

        The server was never buried.
        """
        for load in self.load_stock, self.load:
            spec = load(self.create())
            spec.availability_zone = 'another'
            with self.statements() as sent:
                spec.save()
            # MySQL's parameters have names.
            yield [re.sub(r'%\(\w+\)s', '?', specs.without_condition(text))
                   for text in sent]

    def keep(self, uuid, networks, **more):
        """Keep networks of a server, and more."""
        ours.keep(self.context, {uuid: retained.Retained(networks, **more)})

    def map_server(self, uuid):
        """Store the mapping of a server, which a step locks."""
        objects.InstanceMapping(
            self.context, instance_uuid=uuid, project_id='fake').create()

    def forget(self, uuid):
        """Forget all that is retained of a server that has a mapping."""
        # Others may use the test's own at the same time.
        own = context.get_admin_context()
        with api_db_api.context_manager.writer.using(own):
            lock.locked(own, uuid).forget(own)

    @contextlib.contextmanager
    def session(self):
        """Open a transaction in the API's database."""
        with api_db_api.context_manager.writer.using(self.context) as session:
            yield session

    def blob(self, uuid):
        """Return what the row of a RequestSpec holds."""
        with self.session() as session:
            return session.query(models.RequestSpec).filter_by(
                instance_uuid=uuid).one().spec

    def write_blob(self, uuid, blob):
        """Replace what the row of a RequestSpec holds."""
        with self.session() as session:
            session.query(models.RequestSpec).filter_by(
                instance_uuid=uuid).update({'spec': blob})

    @contextlib.contextmanager
    def statements(self):
        """Collect the SQL statements that are sent meanwhile."""
        sent = []

        def note(connection, cursor, statement, *args):
            # Older releases try the connection first.
            if statement not in ('BEGIN', 'SELECT 1'):
                sent.append(statement)

        engine = api_db_api.get_engine()
        sqlalchemy.event.listen(engine, 'before_cursor_execute', note)
        try:
            yield sent
        finally:
            sqlalchemy.event.remove(engine, 'before_cursor_execute', note)
