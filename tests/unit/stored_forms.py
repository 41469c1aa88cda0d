# SPDX-License-Identifier: Apache-2.0

"""What the package stores of a server, and what may be found instead.

The JSON texts are what version 1.0 has stored. They stay as they are.
"""

import json

import hypothesis
from hypothesis import strategies

ATTEMPT = """
{"attempt": "an attempt", "holder": "a holder", "changed": ["display_name"],
 "baseline": {"display_name": "a name", "locked": false, "tags": []},
 "asked": {"display_name": "another"},
 "answered": false, "accepted": true, "cells": ["a cell"], "count": 7,
 "version": "1.0"}
"""

KEPT = """
{"requested_networks": {
   "nova_object.name": "NetworkRequestList",
   "nova_object.namespace": "nova",
   "nova_object.version": "1.1",
   "nova_object.data": {"objects": [{
     "nova_object.name": "NetworkRequest",
     "nova_object.namespace": "nova",
     "nova_object.version": "1.3",
     "nova_object.data": {
       "network_id": "00000000-0000-0000-0000-000000000001",
       "address": "192.0.2.7", "tag": "a tag"},
     "nova_object.changes": ["tag", "address", "network_id"]}]},
   "nova_object.changes": ["objects"]},
 "requested_destination": {
   "nova_object.name": "Destination",
   "nova_object.namespace": "nova",
   "nova_object.version": "1.4",
   "nova_object.data": {"host": "a host", "node": "a node"},
   "nova_object.changes": ["host", "node"]},
 "injected_files": [["/etc/motd", "aGVsbG8="]],
 "root_known": true, "version": "1.0"}
"""

# What may stand where something else is expected.
OTHERS = {'null': None, 'a truth': True, 'a number': 7, 'a text': 'a text',
          'a list': [None], 'a dictionary': {'a': 'b'}}


def retained(**entries):
    """Return what is kept, as it was stored, with other entries."""
    return {**json.loads(KEPT), **entries}


def attempted(**values):
    """Return the entry of an attempt, as it was stored, with other values."""
    return {**json.loads(ATTEMPT), **values}


def without(values, name):
    """Return the values without one."""
    return {key: value for key, value in values.items() if key != name}


def settings(count):
    """Return the decorator of a test that tries as many values."""
    return hypothesis.settings(
        max_examples=count, derandomize=True, database=None, deadline=None,
        suppress_health_check=list(hypothesis.HealthCheck))


def changed(values):
    """Return a strategy: values of which one, at any depth, is another."""
    return strategies.sampled_from(sorted(_paths(values), key=str)).flatmap(
        lambda path: strategies.builds(
            _replaced, strategies.just(values), strategies.just(path),
            _ANYTHING))


_ANYTHING = strategies.recursive(
    strategies.none() | strategies.booleans() | strategies.integers()
    | strategies.text(max_size=5),
    lambda inner: strategies.lists(inner, max_size=2)
    | strategies.dictionaries(strategies.text(max_size=3), inner, max_size=2),
    max_leaves=3)


def _paths(values):
    yield ()
    inner = values.items() if isinstance(values, dict) else enumerate(
        values) if isinstance(values, list) else ()
    for key, value in inner:
        for path in _paths(value):
            yield (key, *path)


def _replaced(values, path, value):
    if not path:
        return value
    copied = values.copy()
    copied[path[0]] = _replaced(values[path[0]], path[1:], value)
    return copied
