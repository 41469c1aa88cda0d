# SPDX-License-Identifier: Apache-2.0

"""How the tests are laid out, so that each is found once and can move."""

import ast
import pathlib

import testtools

TESTS = pathlib.Path(__file__).resolve().parents[1]
README = TESTS / 'README.rst'
PACKAGE = TESTS.parent / 'cell0_rebuild'
DESIGN = TESTS.parent / 'doc/source/contributor/design.rst'
# What of cell0_rebuild/move others may use. All else there writes rows of a
# server that moves, and is used by these. Each is a subject that its users ask
# for: one module in front of all would only pass their calls on.
FRONT = {'attempt', 'cell0_copy', 'deletion', 'into_cell0', 'out_of_cell0',
         'reburial', 'recovery', 'location', 'volume_flags'}

# The series of faults, which tools/run_series.py runs as well as tests do.
SERIES = {f'tests.faults.{name}' for name in (
    'errors', 'series', 'stalls', 'sweeps', 'writes')}


def imports(text):
    """Return the full names of all that a file imports."""
    found = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            found.update(
                f'{node.module}.{alias.name}' for alias in node.names)
    return found


def used_of_move(text):
    """Return the modules of cell0_rebuild/move that a file imports."""
    return {name.split('.')[2] for name in imports(text)
            if name.startswith('cell0_rebuild.move.')}


def imported(text):
    """Return the modules of tests that a file imports, in full."""
    return {
        name for name in imports(text) if name.startswith('tests.') and any(
            part.startswith('test_') for part in name.split('.'))}


def inherited(text):
    """Return the modules of tests from which a file inherits test cases."""
    modules, found = {}, set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.ImportFrom):
            modules.update({
                alias.name: f'{node.module}.{alias.name}'
                for alias in node.names if node.module.startswith('tests')})
        elif isinstance(node, ast.ClassDef):
            found.update(
                base.value.id for base in node.bases
                if isinstance(base, ast.Attribute)
                and isinstance(base.value, ast.Name)
                and not base.attr.endswith('Mixin'))
    return {modules[name] for name in found if name in modules}


def leaves_options_parsed(text):
    """Return whether a file parses the options of the process for good."""
    calls = [node for node in ast.walk(ast.parse(text))
             if isinstance(node, ast.Call)]
    parses = any(ast.unparse(call.func) in (
        'CONF', 'cfg.CONF', 'config.parse_args') for call in calls)
    return parses and 'self.addCleanup(cfg.CONF.reset)' not in map(
        ast.unparse, calls)


class FrontDoorTest(testtools.TestCase):

    def test_nobody_goes_behind_the_front_door_of_a_move(self):
        for path in PACKAGE.rglob('*.py'):
            if PACKAGE / 'move' not in path.parents:
                self.assertEqual(
                    set(), used_of_move(path.read_text()) - FRONT, path)

    def test_each_front_door_is_used(self):
        used = set()
        for path in PACKAGE.rglob('*.py'):
            if PACKAGE / 'move' not in path.parents:
                used |= used_of_move(path.read_text())
        self.assertEqual(FRONT, used)

    def test_nova_calls_nothing_of_a_move(self):
        for path in PACKAGE.glob('*_ext.py'):
            self.assertNotIn('cell0_rebuild.move', path.read_text(), path)

    def test_an_attempt_is_made_by_its_constructors_alone(self):
        # They say what is known of it.
        for path in PACKAGE.rglob('*.py'):
            self.assertNotRegex(path.read_text(), r'\bAttempt\(', path)

    def test_an_import_of_any_form_is_seen(self):
        for text in ('from cell0_rebuild.move import api_db',
                     'import cell0_rebuild.move.api_db',
                     'from cell0_rebuild.move.api_db import end',
                     'def late():\n    from cell0_rebuild.move import api_db'):
            self.assertEqual({'api_db'}, used_of_move(text), text)


class NamesTest(testtools.TestCase):

    def test_what_is_named_as_a_question_answers(self):
        for path in PACKAGE.rglob('*.py'):
            for node in ast.walk(ast.parse(path.read_text())):
                if isinstance(node, ast.FunctionDef) and (
                        node.name.lstrip('_').startswith('is_')):
                    self.assertNotEqual('None', ast.unparse(node.returns),
                                        f'{path}: {node.name}')


class DesignTest(testtools.TestCase):

    def test_the_page_says_where_each_module_of_a_rebuild_belongs(self):
        page = DESIGN.read_text().partition('\nLayout\n')[2]
        for path in PACKAGE.rglob('*.py'):
            if (path.stem != '__init__'
                    and path.relative_to(PACKAGE).parts[0] not in (
                        'wait', 'cmd')):
                self.assertIn(f'``{path.stem}``', page, path)


class LayoutTest(testtools.TestCase):

    def test_no_file_imports_a_module_of_tests(self):
        # What two of them need is in a module of support, *_base.py: a class
        # that is imported by its name would be run in both.
        for path in TESTS.rglob('*.py'):
            self.assertEqual(set(), imported(path.read_text()), path)

    def test_an_import_of_a_module_of_tests_is_seen(self):
        for text in ('from tests.unit import test_a',
                     'from tests.unit.test_a import ATest',
                     'def load():\n    import tests.unit.test_a'):
            self.assertEqual(1, len(imported(text)), text)
        for text in ('from tests.unit import specs', 'import tests.releases',
                     'from nova.tests.functional import test_servers'):
            self.assertEqual(set(), imported(text), text)

    def test_test_cases_are_inherited_from_modules_for_it(self):
        for path in TESTS.rglob('test_*.py'):
            self.assertEqual(set(), {
                module for module in inherited(path.read_text())
                if module.rpartition('.')[2] != 'base'
                and not module.endswith('_base')} - SERIES, path)

    def test_a_test_case_that_is_inherited_is_seen(self):
        text = 'from tests.races import {0}\n\n\nclass A({0}.{1}):\n    pass'
        self.assertEqual(
            {'tests.races.racing'}, inherited(text.format('racing', 'Race')))
        self.assertEqual(
            set(), inherited(text.format('racing', 'RaceMixin')))

    def test_no_test_leaves_the_options_of_the_process_parsed(self):
        # Nova's own tests parse them, and fail then.
        for path in TESTS.rglob('*.py'):
            self.assertFalse(leaves_options_parsed(path.read_text()), path)

    def test_options_that_are_left_parsed_are_seen(self):
        for text in ('CONF([])', 'cfg.CONF(["--config-file", "a"])',
                     'config.parse_args([])'):
            self.assertTrue(leaves_options_parsed(text), text)
        for text in ('conf = cfg.ConfigOpts()', 'conf([])',
                     'ConfFixture(cfg.CONF)',
                     'cfg.CONF([])\nself.addCleanup(cfg.CONF.reset)'):
            self.assertFalse(leaves_options_parsed(text), text)

    def test_every_folder_with_tests_is_a_package(self):
        # Others are left out without a word.
        for path in TESTS.rglob('test_*.py'):
            for folder in path.relative_to(TESTS).parents:
                self.assertTrue(
                    (TESTS / folder / '__init__.py').exists(), path)

    def test_the_readme_has_every_folder_with_tests(self):
        text = README.read_text()
        for folder in {path.parent for path in TESTS.rglob('test_*.py')}:
            self.assertIn(f'``{folder.relative_to(TESTS)}/``', text)
