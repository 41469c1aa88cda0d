# SPDX-License-Identifier: Apache-2.0

"""What Nova's create checks, read from its source.

A create is walked from the controller on, through every function that its
class and that of the compute API have. What is found has a name::

    API._check_config_drive              a function that is not walked into
    hardware.numa_get_constraints        a function of another module
    context.can(ZERO_DISK_FLAVOR)        a policy
    API._validate_bdm: InvalidBDM        an exception that it raises
    API._validate_bdm: InvalidBDM (2)    and the second of the kind there
"""

import ast
import collections
import pathlib

from tests import signatures

_CONTROLLER = 'ServersController'
_MODULES = {_CONTROLLER: 'nova.api.openstack.compute.servers',
            'API': 'nova.compute.api'}
# What methods are called on.
_OWNERS = {'self.compute_api': 'API', 'API': 'API'}
# They make messages, and exceptions, which are raised if that is a check.
_MADE = {'_', 'exc', 'exception'}


def source(module):
    """Return the source of a module of this Nova."""
    return pathlib.Path(signatures.locate(module)).read_text()


def steps(known=(), read=source):
    """Return the names of what a create does, unless it does it by itself.

    :param known: functions that are not to be walked into.
    :param read: returns the source of a module.
    """
    walk = _Walk(known, {cls: ast.parse(read(module))
                         for cls, module in _MODULES.items()})
    walk.into(f'{_CONTROLLER}.create')
    return walk.found


class _Walk:

    def __init__(self, known, trees):
        self._known = known
        self._trees = trees
        self._functions = {
            name: node for cls, tree in trees.items()
            for name, node in _functions(cls, tree)}
        self._walked = set()
        self.found = set()

    def into(self, name):
        """Find what a function does, and what it calls does."""
        if name in self._walked:
            return
        self._walked.add(name)
        cls, _ = name.split('.')
        raised = collections.Counter()
        # The handlers of the controller give what was raised its code.
        for node in _nodes(self._functions[name], cls != _CONTROLLER):
            if isinstance(node, ast.Raise) and node.exc is not None:
                self.found.add(_numbered(f'{name}: {_raised(node)}', raised))
            elif isinstance(node, ast.Call):
                self._step(cls, _dotted(node.func), node.args)
            elif (isinstance(node, ast.Assign) and _dotted(node.value)
                    .rpartition('.')[0] in _OWNERS):
                # A method that gets another name.
                self._step(cls, _dotted(node.value), ())

    def _step(self, cls, called, arguments):
        owner, _, method = called.rpartition('.')
        name = f'{_OWNERS.get(owner, cls)}.{method}'
        is_own = owner in ('', 'self', *_OWNERS) and name in self._functions
        if called == 'context.can':
            name = f'{called}({_last(arguments[0])})'
        elif is_own and name not in self._known:
            self.into(name)
            return
        elif not is_own:
            name = called
            if not self._is_of_others(cls, called):
                return
        self.found.add(name)

    def _is_of_others(self, cls, called):
        """Tell whether it is a function of another module or object."""
        root, _, method = called.partition('.')
        return root in _imported(self._trees[cls]) - _MADE or (
            root == 'self' and '.' in method)


def answers(read=source):
    """Return {exception: code} as the controller of a create has them.

    :returns: the exceptions by their names there, the codes as exceptions.
    """
    tree = ast.parse(read(_MODULES[_CONTROLLER]))
    create = dict(_functions(_CONTROLLER, tree))[f'{_CONTROLLER}.create']
    found = {}
    for handler in ast.walk(create):
        if isinstance(handler, ast.ExceptHandler):
            names = getattr(handler.type, 'elts', [handler.type])
            [raised] = [node for node in ast.walk(handler)
                        if isinstance(node, ast.Raise)]
            for name in names:
                found.setdefault(_dotted(name), _raised(raised))
    return found


def _functions(cls, tree):
    """Return [(name, node)] of those of a class and of its module."""
    for node in tree.body:
        if isinstance(node, ast.FunctionDef):
            yield f'{cls}.{node.name}', node
        elif isinstance(node, ast.ClassDef) and node.name == cls:
            yield from _functions(cls, node)


def _imported(tree):
    return {(name.asname or name.name).partition('.')[0]
            for node in tree.body
            if isinstance(node, (ast.Import, ast.ImportFrom))
            for name in node.names}


def _nodes(function, with_handlers):
    """Return the nodes of a function in the order of its source."""
    decorators = getattr(function, 'decorator_list', ())
    for node in ast.iter_child_nodes(function):
        if node not in decorators and (
                with_handlers or not isinstance(node, ast.ExceptHandler)):
            yield node
            yield from _nodes(node, with_handlers)


def _dotted(node):
    """Return the name by which something is called, as far as it has one."""
    if isinstance(node, ast.Attribute):
        return f'{_dotted(node.value)}.{node.attr}'
    return getattr(node, 'id', '?')


def _raised(node):
    """Return the name of an exception."""
    return _dotted(getattr(node.exc, 'func', node.exc)).rpartition('.')[2]


def _numbered(name, counter):
    counter[name] += 1
    return name if counter[name] == 1 else f'{name} ({counter[name]})'


def _last(node):
    """Return what a policy is called in the source."""
    if isinstance(node, ast.BinOp):
        return node.right.value
    return _dotted(node).rpartition('.')[2]
