# SPDX-License-Identifier: Apache-2.0

"""Where Nova ends a create, in cell0 or in a real cell.

tests/functional/moves/test_burials.py tests each. A new one in a later Nova is
to be noticed here.
"""

import ast
import importlib.util
import pathlib

import testtools


class HandlersTest(testtools.TestCase):

    def setUp(self):
        super().setUp()
        self.tree = ast.parse(_source('nova.conductor.manager'))

    def test_a_server_is_buried_after_two_kinds_of_failure(self):
        self.assertEqual(
            [('_schedule_instances', 'Exception'),
             ('get_by_host', 'exception.HostMappingNotFound')],
            self._failures('_bury_in_cell0'))

    def test_a_server_fails_in_its_cell_after_three_kinds_of_failure(self):
        self.assertEqual(
            ['_create_and_bind_arq_for_instance', 'fill_provider_mapping'],
            sorted(step for step, error in self._failures(
                '_cleanup_build_artifacts') if error == 'Exception'))
        self.assertEqual(1, len([
            error for _step, error in self._failures(
                '_cleanup_build_artifacts')
            if 'exception.TooManyInstances' in error]))

    def test_nothing_else_ends_a_create_so(self):
        for method, number in (('_bury_in_cell0', 2),
                               ('_cleanup_build_artifacts', 3)):
            self.assertEqual(number, len(_calls(self.tree, method)))
            self.assertEqual(number, len(self._failures(method)))

    def _failures(self, method):
        """Return [(first call of the step that failed, what is caught)].

        :param method: what is called for it.
        """
        [function] = [
            node for node in ast.walk(self.tree)
            if isinstance(node, ast.FunctionDef)
            and node.name == 'schedule_and_build_instances']
        return [
            (_name(_all_calls(step.body[0])[0]), ast.unparse(handler.type))
            for step in ast.walk(function) if isinstance(step, ast.Try)
            for handler in step.handlers if _calls(handler, method)]


def _source(module):
    return pathlib.Path(importlib.util.find_spec(
        'nova').origin).parent.joinpath(
            *module.split('.')[1:]).with_suffix('.py').read_text()


def _calls(tree, method):
    return [call for call in _all_calls(tree) if _name(call) == method]


def _all_calls(tree):
    return [node for node in ast.walk(tree) if isinstance(node, ast.Call)]


def _name(call):
    return getattr(call.func, 'attr', getattr(call.func, 'id', None))
