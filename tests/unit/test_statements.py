#    Licensed under the Apache License, Version 2.0 (the "License"); you may
#    not use this file except in compliance with the License. You may obtain
#    a copy of the License at
#
#         http://www.apache.org/licenses/LICENSE-2.0
#
#    Unless required by applicable law or agreed to in writing, software
#    distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
#    WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
#    License for the specific language governing permissions and limitations
#    under the License.

"""Errors of a database that tell no values."""

import sqlalchemy.exc
import testtools

from cell0_rebuild import statements


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
            with statements.hidden_values():
                self.failing()
        error = self.assertRaises(RuntimeError, quiet)
        cause = error.__cause__
        for text in (str(error), str(cause)):
            self.assertNotIn('secret', text)
        self.assertIn('it is away', str(cause))
        self.assertIn('[parameters hidden]', str(error))

    def test_the_function_may_return_something(self):
        self.assertEqual(7, statements.retried(lambda number: number)(7))
