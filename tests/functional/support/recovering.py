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
from cell0_rebuild.conductor import builder
from cell0_rebuild.conductor import ec2
from cell0_rebuild.conductor import endpoint
from cell0_rebuild.conductor import reimage
from cell0_rebuild.conductor import resource_claims
from cell0_rebuild.move import actions
from cell0_rebuild.move import api_db
from cell0_rebuild.move import attempt
from cell0_rebuild.move import cell0_db
from cell0_rebuild.move import cell_db
from cell0_rebuild.move import deletion
from cell0_rebuild.move import late_changes
from cell0_rebuild.move import mapped_db
from cell0_rebuild.move import out_of_cell0
from cell0_rebuild.move import reburial
from cell0_rebuild import objects as our_objects
from cell0_rebuild import retained
from cell0_rebuild import rpcapi
from tests.functional import base
from tests.functional.support import databases
from tests.functional.support import races_base

# So that what happened just now is old enough.
AT_ONCE = -5

# What is called at the steps of a rebuild and of what mends it. A test stops,
# fails or ends a process there by these.
PROBE = base.name_of(rpcapi.RebuildAPI.ping)
REQUEST = races_base.REQUEST
ANSWER = base.name_of(api_db.answer)
HIDE = base.name_of(cell0_db.hide)
ASK = base.name_of(out_of_cell0.ask)
MOVE = base.name_of(out_of_cell0.to_build_request)
TAKE = base.name_of(api_db.take)
SCHEDULER = races_base.SCHEDULER
CHECK = base.name_of(builder.Builder._check_current)
RELEASE = base.name_of(resource_claims.release)
TAGS = 'nova.conductor.manager.ComputeTaskManager._create_tags'
# The row in the cell is there, without volumes and tags.
CREATED = 'nova.scheduler.utils.fill_provider_mapping'
HAND_OVER = base.name_of(attempt.hand_over)
END = base.name_of(api_db.end)
CAST = base.CAST
FINISH = base.name_of(attempt.finish)
FORGET = base.name_of(mapped_db.forget)
REMOVE_HIDDEN = base.name_of(cell0_db._remove)
# Whatever its end, what a conductor does last.
DONE = base.name_of(ec2.forget_id)
# Another image for a root volume.
REIMAGE = base.name_of(endpoint.RebuildEndpoint._reimage)
ACCEPT = base.name_of(api_db.accept)
WRITE = base.name_of(reimage.Volume.write)
WRITING = base.name_of(reimage.Write.wait)
# What somebody changes meanwhile.
APPLY = base.name_of(late_changes.apply)
UPDATE = base.name_of(late_changes.update)
# A burial.
KEEP = base.name_of(our_objects.keep)
TAKE_OVER = base.name_of(api_db.take_over)
BURY = base.name_of(reburial.bury_again)
ENTRY = base.name_of(api_db.entry)
BACK = base.name_of(api_db.to_cell0)
FIND = base.name_of(cell_db.find)
WATCHED = base.name_of(cell_db.watched)
IS_THERE = base.name_of(cell0_db.is_there)
REMAP = base.name_of(mapped_db.remap)
BRING = base.name_of(actions.bring)
SHOW = base.name_of(cell0_db.show)
SHOW_AGAIN = base.name_of(reburial.show)
REMOVE = base.name_of(cell_db.remove)
CLEAR_CELLS = base.name_of(mapped_db.clear_cells)
LEAVE = base.name_of(mapped_db.leave)
# A delete.
CLEAR = base.name_of(deletion.clear)
ERASE = base.name_of(deletion.erase)
COMPLETE = base.name_of(deletion.complete)
SWEEP = base.name_of(deletion.sweep)
# How long somebody waits, in seconds; what is too young for a recovery.
ALLOCATIONS_PAUSE = 'cell0_rebuild.allocations._PAUSE'
RELEASE_PATIENCE = 'cell0_rebuild.conductor.resource_claims._PATIENCE'
REQUEST_PAUSES = 'cell0_rebuild.api.rebuild._PAUSES'
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
