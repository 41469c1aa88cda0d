# SPDX-License-Identifier: Apache-2.0

"""A text is found in documents, or is one, to the letter."""

import sqlalchemy as sa
from sqlalchemy.dialects import mysql
import testtools

from cell0_rebuild import sql_text

DOCUMENTS = sa.table('documents', sa.column('spec', sa.Text))
TEXT = '"cell0_rebuild"'


class ContainsTest(testtools.TestCase):

    def setUp(self):
        super().setUp()
        self.query = sa.select(DOCUMENTS.c.spec).where(
            sql_text.Contains(DOCUMENTS.c.spec, TEXT))

    def test_a_document_with_the_text_is_found(self):
        engine = sa.create_engine('sqlite://')
        with engine.begin() as connection:
            connection.execute(sa.text('CREATE TABLE documents (spec TEXT)'))
            connection.execute(
                sa.text('INSERT INTO documents VALUES (:one), (:other)'),
                {'one': f'{{{TEXT}: 1}}', 'other': '{"another": 1}'})
            self.assertEqual(
                [f'{{{TEXT}: 1}}'], connection.scalars(self.query).all())

    def test_mariadb_compares_bytes(self):
        compiled = self.query.compile(dialect=mysql.dialect())
        self.assertIn('INSTR(CAST(documents.spec AS BINARY)', str(compiled))
        self.assertEqual([TEXT], list(compiled.params.values()))


class EqualsTest(testtools.TestCase):

    def setUp(self):
        super().setUp()
        self.query = sa.select(DOCUMENTS.c.spec).where(
            sql_text.Equals(DOCUMENTS.c.spec, TEXT))

    def test_a_document_that_is_the_text_is_found(self):
        engine = sa.create_engine('sqlite://')
        with engine.begin() as connection:
            connection.execute(sa.text('CREATE TABLE documents (spec TEXT)'))
            connection.execute(
                sa.text('INSERT INTO documents VALUES (:one), (:other)'),
                {'one': TEXT, 'other': TEXT.upper()})
            self.assertEqual([TEXT], connection.scalars(self.query).all())

    def test_mariadb_compares_letter_by_letter(self):
        # A collation may take two letters for the same.
        self.assertIn('CAST(documents.spec AS BINARY) = ', str(
            self.query.compile(dialect=mysql.dialect())))
