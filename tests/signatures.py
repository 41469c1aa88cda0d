# SPDX-License-Identifier: Apache-2.0

"""Read the signature of a function of Nova from its source.

The text is that of :func:`cell0_rebuild.patching.signature_of`, which imports
the module. What is not installed cannot be imported.
"""

from __future__ import annotations

import ast
import functools
import importlib.machinery
import importlib.util
import pathlib
import typing as ty


def locate(module: str) -> pathlib.Path | None:
    """Return the source file of a module without importing anything."""
    parts = module.split('.')
    # Of a package that is installed editable, as DevStack installs Nova, only
    # its own finder in sys.meta_path knows the place.
    spec = importlib.util.find_spec(parts[0])
    for depth in range(2, len(parts) + 1):
        if spec is None:
            return None
        spec = importlib.machinery.PathFinder.find_spec(
            '.'.join(parts[:depth]),
            list(spec.submodule_search_locations or ()))
    if spec is None or not spec.origin:
        return None
    return pathlib.Path(spec.origin)


def read(module: str, name: str) -> str | None:
    """Return the signature of a function in a module that is not imported.

    :param module: the dotted name of the module.
    :param name: ``function`` or ``Class.method``.
    :returns: None if the module or the function is not there.
    """
    path = locate(module)
    if path is None:
        return None
    body = _parsed(path)
    *owners, function = name.split('.')
    for owner in owners:
        found = _find(body, owner, ast.ClassDef)
        if found is None:
            return None
        body = found.body
    node = _find(body, function, ast.FunctionDef)
    return None if node is None else _render_node(node)


# Those of one module come one after the other, and the tree of a large one
# takes half a second to make and more memory than is good to keep.
@functools.lru_cache(maxsize=1)
def _parsed(path: pathlib.Path) -> list[ast.stmt]:
    return ast.parse(path.read_bytes()).body


_Node = ty.TypeVar('_Node', ast.ClassDef, ast.FunctionDef)


def _find(
    body: list[ast.stmt], name: str, kind: type[_Node]
) -> _Node | None:
    for node in reversed(body):  # the last definition is the one that counts
        if isinstance(node, kind) and node.name == name:
            return node
    return None


def _render_node(node: ast.FunctionDef) -> str:
    arguments = node.args
    for argument in (*arguments.posonlyargs, *arguments.args,
                     *arguments.kwonlyargs, arguments.vararg,
                     arguments.kwarg):
        if argument is not None:
            argument.annotation = None
    return ast.unparse(arguments)
