# SPDX-License-Identifier: Apache-2.0

"""A text is found in documents, or is one, to the letter."""

import sqlalchemy as sa
from sqlalchemy.dialects import mysql
import testtools

from cell0_rebuild import sql_text

DOCUMENTS = sa.table('documents', sa.column('spec', sa.Text))
TEXT = '"cell0_rebuild"'


class ContainsTest(testtools.TestCase):
    """A document has the text in it."""

    operator = sql_text.Contains
    document, other = f'{{{TEXT}: 1}}', '{"another": 1}'
    compiled = 'INSTR(CAST(documents.spec AS BINARY)'

    def setUp(self):
        super().setUp()
        self.query = sa.select(DOCUMENTS.c.spec).where(
            self.operator(DOCUMENTS.c.spec, TEXT))

    def test_such_a_document_is_found(self):
        engine = sa.create_engine('sqlite://')
        with engine.begin() as connection:
            connection.execute(sa.text('CREATE TABLE documents (spec TEXT)'))
            connection.execute(
                sa.text('INSERT INTO documents VALUES (:one), (:other)'),
                {'one': self.document, 'other': self.other})
            self.assertEqual(
                [self.document], connection.scalars(self.query).all())

    def test_mariadb_compares_bytes(self):
        # A collation may take two letters for the same.
        compiled = self.query.compile(dialect=mysql.dialect())
        self.assertIn(self.compiled, str(compiled))
        self.assertEqual([TEXT], list(compiled.params.values()))


class EqualsTest(ContainsTest):
    """A document is the text."""

    operator = sql_text.Equals
    document, other = TEXT, TEXT.upper()
    compiled = 'CAST(documents.spec AS BINARY) = '
