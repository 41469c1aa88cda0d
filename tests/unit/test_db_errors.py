# SPDX-License-Identifier: Apache-2.0

"""Errors of a database that tell no values."""

import fixtures
from oslo_db import exception as db_exc
import pymysql
import sqlalchemy.exc
import testtools

from cell0_rebuild import db_errors
from tests.unit import request_specs_base


class HiddenValuesTest(testtools.TestCase):

    def failing(self):
        """Raise an error that came from one with the values."""
        try:
            raise sqlalchemy.exc.StatementError(
                'it is away', 'UPDATE specs SET spec = :spec',
                {'spec': 'secret'}, RuntimeError())
        except sqlalchemy.exc.StatementError as error:
            raise RuntimeError(str(error)) from error

    def test_no_values_are_in_the_error_or_what_it_came_from(self):
        def quiet():
            with db_errors.hidden_values():
                self.failing()
        error = self.assertRaises(RuntimeError, quiet)
        cause = error.__cause__
        for text in (str(error), str(cause)):
            self.assertNotIn('secret', text)
        self.assertIn('it is away', str(cause))
        self.assertIn('[parameters hidden]', str(error))


class RetriedTest(request_specs_base.TestCase):

    def setUp(self):
        super().setUp()
        self.useFixture(fixtures.MonkeyPatch('time.sleep', lambda _: None))
        self.tries = 0

    def fail_once(self, error):
        """Run what fails once and then returns the number of tries."""
        @db_errors.retried
        def function(context):
            self.tries += 1
            if self.tries == 1:
                raise error
            return self.tries

        return function(self.context)

    def test_a_deadlock_is_tried_again(self):
        self.assertEqual(2, self.fail_once(db_exc.DBDeadlock()))

    def test_within_another_transaction_it_is_not_tried_again(self):
        with self.session():
            self.assertRaises(
                db_exc.DBDeadlock, self.fail_once, db_exc.DBDeadlock())
        self.assertEqual(1, self.tries)

    def test_a_record_that_has_changed_is_tried_again(self):
        self.assertEqual(2, self.fail_once(_error_of_mariadb(1020)))

    def test_within_another_transaction_it_is_a_deadlock(self):
        with self.session():
            self.assertRaises(
                db_exc.DBDeadlock, self.fail_once, _error_of_mariadb(1020))

    def test_another_error_of_the_database_is_raised_as_it_is(self):
        self.assertRaises(sqlalchemy.exc.OperationalError, self.fail_once,
                          _error_of_mariadb(1054))
        self.assertEqual(1, self.tries)


def _error_of_mariadb(number):
    """Return an error as an oslo.db that does not know it lets it pass."""
    return sqlalchemy.exc.OperationalError(
        'UPDATE', {}, pymysql.err.OperationalError(number, 'a text'))
