# SPDX-License-Identifier: Apache-2.0

"""Crashes at every step of a rebuild, and the command that mends them."""

import argparse
import contextlib
import io
import json

import fixtures
from keystoneauth1 import exceptions as ks_exc
from nova.db.api import models as api_models
from oslo_db import exception as db_exc

from cell0_rebuild.cmd import manage
from cell0_rebuild import objects as our_objects
from cell0_rebuild import retained
from tests.functional import base
from tests.functional.support import databases
from tests.functional.support import races_base

# So that what happened just now is old enough.
AT_ONCE = -5

# What the package calls at the steps of a rebuild and of what mends it. Other
# tests name it by these.
PROBE = 'cell0_rebuild.rpcapi.RebuildAPI.ping'
REQUEST = races_base.REQUEST
HIDE = 'cell0_rebuild.move.cell0_db.hide'
ASK = 'cell0_rebuild.move.out_of_cell0.ask'
TAKE = 'cell0_rebuild.move.api_db.take'
SCHEDULER = races_base.SCHEDULER
TAGS = 'nova.conductor.manager.ComputeTaskManager._create_tags'
HAND_OVER = 'cell0_rebuild.move.attempt.hand_over'
END = 'cell0_rebuild.move.api_db.end'
CAST = base.CAST
FINISH = 'cell0_rebuild.move.attempt.finish'
FORGET = 'cell0_rebuild.move.mapped_db.forget'
# Whatever its end, what a conductor does last.
DONE = 'cell0_rebuild.conductor.ec2.forget_id'
# Another image for a root volume.
REIMAGE = 'cell0_rebuild.conductor.endpoint.RebuildEndpoint._reimage'
ACCEPT = 'cell0_rebuild.move.api_db.accept'
WRITE = 'cell0_rebuild.conductor.reimage.Volume.write'
WRITING = 'cell0_rebuild.conductor.reimage.Write.wait'
# A burial.
TAKE_OVER = 'cell0_rebuild.move.api_db.take_over'
BURY = 'cell0_rebuild.move.reburial.bury_again'
BACK = 'cell0_rebuild.move.api_db.to_cell0'
REMAP = 'cell0_rebuild.move.mapped_db.remap'
SHOW = 'cell0_rebuild.move.cell0_db.show'
REMOVE = 'cell0_rebuild.move.cell_db.remove'
LEAVE = 'cell0_rebuild.move.mapped_db.leave'
# A delete.
CLEAR = 'cell0_rebuild.move.deletion.clear'
SWEEP = 'cell0_rebuild.move.deletion.sweep'
# How long somebody waits, or what is too young for a recovery.
ALLOCATIONS_PAUSE = 'cell0_rebuild.allocations._PAUSE'
RELEASE_PATIENCE = 'cell0_rebuild.conductor.resource_claims._PATIENCE'
AGE = 'cell0_rebuild.cmd.manage.AGE'


class Crash(BaseException):
    """The end of a process: nothing that it would do comes after it."""


def crash(*args, **kwargs):
    """End the process."""
    raise Crash


def fail(*args, **kwargs):
    """Fail as a bug or a broker would."""
    raise RuntimeError('a step failed')


def lose_database(*args, **kwargs):
    """Fail as a database does that goes away."""
    raise db_exc.DBConnectionError(Exception('down'))


def section(server_id):
    """Return what is kept of a server as it is stored, or None."""
    return json.loads(databases.blob(server_id)).get(our_objects.SECTION)


def entry(server_id):
    """Return what is stored of the attempt of a server, or None."""
    return (section(server_id) or {}).get(retained.ATTEMPT)


def change_entry(server_id, **values):
    """Change what is stored of an attempt, as another version leaves it."""
    blob = json.loads(databases.blob(server_id))
    blob[our_objects.SECTION][retained.ATTEMPT].update(values)
    databases.update('api', api_models.RequestSpec, server_id,
                     spec=json.dumps(blob))


def recover(*servers, older_than=AT_ONCE, dry_run=False):
    """Run the command and return its exit code and {server: finding}."""
    output = io.StringIO()
    with contextlib.redirect_stdout(output):
        code = manage.recover(argparse.Namespace(
            server=list(servers) or None, older_than=older_than,
            dry_run=dry_run, format='json'))
    return code, {
        found.pop('server'): found for found in json.loads(output.getvalue())}


def placement_down(error=ks_exc.ConnectFailure):
    """Return a fixture without a Placement that tells of allocations.

    :param error: what Nova's client makes of its answer.
    """
    def be_down(*args, **kwargs):
        raise error('down')
    return fixtures.MonkeyPatch(
        'nova.scheduler.client.report.SchedulerReportClient.'
        'get_allocs_for_consumer', be_down)
