# SPDX-License-Identifier: Apache-2.0

"""Print a sample of mutants of files, as JSON.

Usage: making.py SEED SIZE FILE ...

The changes are cosmic-ray's, and one of ours: a statement is left out.
"""

import ast
import json
import pathlib
import random
import sys

from cosmic_ray import ast as trees
from cosmic_ray import mutating
from cosmic_ray.operators import operator
from cosmic_ray import plugins
import parso


class LeaveOut(operator.Operator):
    """Leaves out a call whose result is not used, or what sets a field."""

    def mutation_positions(self, node):
        if node.type != 'simple_stmt':
            return
        statement = node.children[0]
        is_set = statement.type == 'expr_stmt' and (
            statement.children[0].type == 'atom_expr')
        if is_set or statement.type == 'atom_expr':
            yield statement.start_pos, statement.end_pos

    def mutate(self, node, index):
        indent = node.get_first_leaf().prefix
        return parso.parse(f'{indent}pass\n')

    @classmethod
    def examples(cls):
        return (operator.Example('f()\n', 'pass\n'),)


class Unannotated(ast.NodeTransformer):
    """Drops annotations and what is imported for them: nothing uses them."""

    def visit_If(self, node):
        if 'TYPE_CHECKING' in ast.unparse(node.test):
            return None
        return self.generic_visit(node)

    def visit_arg(self, node):
        node.annotation = None
        return node

    def visit_FunctionDef(self, node):
        node.returns = None
        return self.generic_visit(node)

    def visit_AnnAssign(self, node):
        node.annotation = ast.Constant(None)
        return self.generic_visit(node)


def meaning(code):
    """Return what differs if code does; None of code that is not valid."""
    try:
        return ast.dump(Unannotated().visit(ast.parse(code)))
    except SyntaxError:
        return None


def operators():
    """Return the operators by name."""
    found = {'LeaveOut': LeaveOut()}
    for name in plugins.operator_names():
        made = plugins.get_operator(name)
        if not made.arguments():
            found[name.partition('/')[2]] = made()
    return found


def places(path, code):
    """Return the changes of a file by place and kind."""
    found = {}
    nodes = list(trees.ast_nodes(parso.parse(code)))
    for name, made in sorted(operators().items()):
        positions = (start for node in nodes
                     for start, _ in made.mutation_positions(node))
        for occurrence, start in enumerate(positions):
            # Else most of them would be comparisons: each has seven others.
            found.setdefault((path, start, name.partition('_')[0]), []).append(
                (name, made, occurrence))
    return found


def main(seed, size, *paths):
    """Print them, one a line."""
    codes = {path: pathlib.Path(path).read_text() for path in sorted(paths)}
    found = {}
    for path, code in codes.items():
        found.update(places(path, code))
    chance = random.Random(int(seed))
    chosen = sorted(found)
    chance.shuffle(chosen)
    left = int(size)
    for path, start, kind in chosen:
        if not left:
            break
        name, made, occurrence = chance.choice(found[path, start, kind])
        code = mutating.mutate_code(codes[path], made, occurrence)
        if meaning(code) not in (None, meaning(codes[path])):
            left -= 1
            print(json.dumps({'path': path, 'line': start[0],
                              'change': name, 'code': code}))


if __name__ == '__main__':
    main(*sys.argv[1:])
