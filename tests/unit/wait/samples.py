# SPDX-License-Identifier: Apache-2.0

"""Waiting servers, for tests of what is a function of plain values."""

import datetime
import types
import uuid

from hypothesis import strategies as st
from oslo_config import cfg

from cell0_rebuild.wait import options as wait_options
from cell0_rebuild.wait import values


NOON = datetime.datetime(2026, 3, 1, 12)
HOUR = datetime.timedelta(hours=1)

PROJECTS = ('a', 'b', 'c')


def server(number=1, project='a', age=0, **fields):
    """Return a server.

    :param number: which its UUID is made from.
    :param age: how many hours before noon it was created.
    """
    created_at = NOON - age * HOUR
    return values.Waiting(
        str(uuid.UUID(int=number)), project, created_at,
        created_at + 24 * HOUR, True, **fields)


def kind(query, fallback=None, group=None, likeness=''):
    """Return the kind of servers that ask for something."""
    return values.Kind(
        values.Shape(values.Question(query, fallback), group), likeness)


def section(**options):
    """Return what the options of the service are if nobody sets them."""
    conf = cfg.ConfigOpts()
    wait_options.register(conf)
    conf([], default_config_files=[], default_config_dirs=[])
    return types.SimpleNamespace(**{
        **{opt.dest: conf[wait_options.GROUP.name][opt.dest]
           for opt in wait_options.OPTS}, **options})


def servers(**fixed):
    """Return lists of servers, of few projects and much alike."""
    choices = {
        'project': st.sampled_from(PROJECTS),
        'age': st.integers(0, 3) | st.floats(0, 100),
        'priority': st.integers(-1, 1),
        'nice': st.integers(0, 2) | st.integers(0, 48)}
    choices.update({name: st.just(value) for name, value in fixed.items()})
    return st.lists(
        st.builds(server, st.integers(1, 9999), **choices),
        max_size=12, unique_by=lambda one: one.uuid)


shares = st.dictionaries(
    st.sampled_from(PROJECTS),
    st.floats(0, 3) | st.sampled_from([0.0, 1.0, float('inf')]))
