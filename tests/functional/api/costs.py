# SPDX-License-Identifier: Apache-2.0

"""What requests cost, counted: the same ones, stock and enabled."""

import functools
import unittest

from tests.functional.api import costs_base

REBUILD = costs_base.REBUILD


class Stock(costs_base.Scenario):
    """Without the package."""

    enabled = False


class Enabled(costs_base.Scenario):
    """With it."""


@functools.cache
def run(name='scenario'):
    """Run a method of :class:`costs_base.Scenario`, stock and enabled.

    :returns: the two test cases, which have counted.
    :raises AssertionError: if something in it failed.
    """
    # The first run fills the caches of the process.
    for scenario in (Stock, Stock, Enabled):
        result = unittest.TestResult()
        scenario(name).run(result)
        for _, traceback in (*result.errors, *result.failures):
            raise AssertionError(traceback[-5000:])
    return Stock, Enabled
