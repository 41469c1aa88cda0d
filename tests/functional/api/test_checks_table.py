# SPDX-License-Identifier: Apache-2.0

"""Whatever Nova's create checks has a row in doc/source/reference/checks.rst.

The cases prove what the rows say; these tests, that no row and no case is
missing on the Nova that they run on.
"""

import ast
import inspect
import textwrap
import unittest

import fixtures
from nova.api.openstack.compute import servers
from nova import exception
from nova.tests.functional.api import client as api_client
import webob.exc

from cell0_rebuild import nova_internals
from tests.functional.api import cases
from tests.functional.api import checks_table
from tests.functional.api import creating
from tests.functional import base
from tests.functional.support import databases

PAGE = cases.ROOT / 'doc/source/reference/checks.rst'
# What shows that a refusal changed nothing.
SHOWS = 'assert_refused_without_trace'


class TableTest(unittest.TestCase):

    def setUp(self):
        super().setUp()
        # What the rebuild calls, too, may check what it will.
        self.made = creating.steps(
            {target.name for target in (
                *nova_internals.CHECKS, *nova_internals.DEMANDS)})

    def test_whatever_a_create_checks_has_a_row(self):
        self.assertEqual(set(), self.made - checks_table.names())

    def test_whatever_has_a_row_is_checked_by_a_create(self):
        self.assertEqual(
            set(), checks_table.names() - self.made - checks_table.LACKED)

    def test_the_page_has_the_rows(self):
        page = PAGE.read_text()
        for table in checks_table.tables():
            self.assertIn(f'\n\n{table}\n\n', page)
        self.assertEqual(2, page.count('list-table::'))

    def test_every_code_of_a_rebuild_has_a_case(self):
        for row in checks_table.ASKED:
            for code in row.rebuild:
                with self.subTest(row.what, code=code):
                    self.assertTrue([
                        case for case in row.cases if f'_{code}' in case])

    def test_every_case_of_a_refusal_shows_that_nothing_changed(self):
        for row in checks_table.ASKED:
            for case in row.cases:
                with self.subTest(case):
                    self.assertIn(SHOWS, _called(*cases.find(case)))

    def test_every_case_is_there(self):
        for row in checks_table.NOT_ASKED:
            for case in row.cases:
                cases.find(case)


def _called(cls, name, seen=()):
    """Return the methods of its own that a method calls, and they call."""
    source = inspect.getsource(inspect.unwrap(getattr(cls, name)))
    found = {
        node.func.attr
        for node in ast.walk(ast.parse(textwrap.dedent(source)))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)
        and node.func.attr.startswith('assert')
        and callable(getattr(cls, node.func.attr, None))}
    for other in found.difference(seen):
        found = found | _called(cls, other, {*found, *seen})
    return found


class AnswersTest(base.FunctionalTestCase):

    def test_an_exception_gets_the_answer_that_a_create_gives_it(self):
        server = self.bury()
        before = databases.dump()
        answers = {
            error: getattr(webob.exc, answer).code
            for name, answer in creating.answers().items()
            for error in _exceptions(name)}
        self.assertLess(80, len(answers))
        given = {error: self.answer_to(error, server) for error in answers}
        self.assertEqual({}, {
            error: (answers[error], code) for error, code in given.items()
            if code != answers[error]})
        self.assertEqual(
            [], databases.differences(before, databases.dump()))

    def answer_to(self, error, server):
        """Return the code of a rebuild that fails in one of its checks."""
        def fail(*args, **kwargs):
            raise error('made up')
        with fixtures.MonkeyPatch(
                'nova.compute.api.API._check_image_arch', fail):
            return self.assertRaises(
                api_client.OpenStackApiException, self.rebuild,
                server).response.status_code


def _exceptions(name):
    """Return the exceptions of Nova that a name in its controller means."""
    module, _, name = name.rpartition('.')
    if module == 'messaging' or not hasattr(exception, name):
        return getattr(servers, name, ())
    return getattr(exception, name),
