# SPDX-License-Identifier: Apache-2.0

"""Rows are locked in a form that each kind of database takes."""

import types
import unittest
from unittest import mock

from nova.db.main import models
from sqlalchemy.dialects import mysql
from sqlalchemy.dialects import postgresql
from sqlalchemy import orm

from cell0_rebuild.move import instance_row


class _Session(orm.Session):
    """Remembers what it is to send."""

    def __init__(self, dialect):
        super().__init__()
        self.dialect, self.sent = dialect, []

    def get_bind(self, *args, **kwargs):
        return types.SimpleNamespace(dialect=self.dialect)

    def execute(self, statement, *args, **kwargs):
        self.sent.append(' '.join(
            str(statement.compile(dialect=self.dialect)).split()))
        return mock.MagicMock()


class LockedTest(unittest.TestCase):

    def sent(self, dialect):
        """Return the ends of the statements that lock an instance."""
        session = _Session(dialect)
        query = session.query(models.Instance.id).outerjoin(
            models.BlockDeviceMapping,
            models.BlockDeviceMapping.instance_uuid == models.Instance.uuid)
        instance_row.locked(
            types.SimpleNamespace(session=session), query, 'uuid').all()
        return [(text.split()[1].split('.')[0], text.partition('FOR ')[2])
                for text in session.sent]

    def test_one_statement_locks_the_volumes_with_the_instance(self):
        self.assertEqual([('instances', 'UPDATE')],
                         self.sent(mysql.dialect()))

    def test_postgresql_locks_no_row_that_an_outer_join_may_not_find(self):
        self.assertEqual(
            [('block_device_mapping', 'UPDATE'),
             ('instances', 'UPDATE OF instances')],
            self.sent(postgresql.dialect()))
