# SPDX-License-Identifier: Apache-2.0

"""What may happen to a buried server at the same time.

An operation is made for one server and returns how it was answered.
"""

import contextlib
import copy
import datetime
import json
import threading

import fixtures
import futurist
from nova.compute import api as nova_api
from nova.conductor import rpcapi as rpcapi_of_nova
from nova import context as nova_context
from nova import exception
from nova.tests import fixtures as nova_fixtures
import oslo_messaging as messaging
from oslo_utils import timeutils
from oslo_utils import uuidutils

from cell0_rebuild.conductor import endpoint
from cell0_rebuild.failed import asking
from cell0_rebuild.failed import bury
from cell0_rebuild.failed import records
from cell0_rebuild.move.recovery import mend
from cell0_rebuild import rpcapi
from tests.faults.agent import crossings
from tests.functional import base
from tests.functional.support import updating
from tests.races import verdicts

# What a recovery says that was undone meanwhile.
LEFT = 'it was changed meanwhile; run this again later'

# Those that need more than a plain server, or something done before.
DELETES = {'delete', 'force_delete', 'stock_delete'}
# Those that go on with a create: its message is held until then.
CREATES = {'bury', 'over_quota', 'unbound'}
# It buries a server that failed on its compute.
COMMAND = 'bury_failed'
BURIALS = {COMMAND, *CREATES}
_NEEDING = {'port', 'flag', 'volume', 'group', 'zone', 'late', 'deliver',
            'take_back', *BURIALS, *DELETES}

_CALL = 'cell0_rebuild.rpcapi.RebuildAPI.rebuild_instance_in_cell0'
_CREATE = 'nova.conductor.rpcapi.ComputeTaskAPI.schedule_and_build_instances'


def needed(*names):
    """Return which of the operations need a server of their own kind."""
    return frozenset(_NEEDING & set(names))


def may_be_refused(name, pair):
    """Tell whether an operation may be refused although it meets nobody.

    Nova refuses some of them for a server that is not buried yet, or is in no
    cell.
    """
    return name == 'unanswered' or bool(
        {'take_back', *BURIALS} & set(pair) - {name})


class Messages(fixtures.Fixture):
    """Lets who sends a rebuild do the work of the conductor as well.

    So nova-api and the conductor are one actor, with one order of steps.
    """

    def _setUp(self):
        self.held = None
        self.lost = threading.local()
        send = rpcapi.RebuildAPI.rebuild_instance_in_cell0

        def sent(api, context, *args):
            if hasattr(self.lost, 'here'):
                raise messaging.MessagingTimeout
            if self.held is not None:
                self.held.append((context, args))
            elif crossings._process.get() is not None:
                return deliver(context, args)
            else:
                return send(api, context, *args)
            return None
        self.useFixture(fixtures.MonkeyPatch(_CALL, sent))
        create = rpcapi_of_nova.ComputeTaskAPI.schedule_and_build_instances

        def created(api, context, *args):
            if self.held is None:
                create(api, context, *args)
            else:
                self.held.append((context, args))
        self.useFixture(fixtures.MonkeyPatch(_CREATE, created))

    def hold(self, operation):
        """Return the answer of an operation and its message, not sent."""
        self.held = []
        try:
            answer = operation()
            [message] = self.held
            return answer, message
        finally:
            self.held = None


class StockDelete(fixtures.Fixture):
    """Has threads that ask for it delete as a nova-api without the package."""

    def _setUp(self):
        self.wanted = threading.local()
        for name in ('_delete', '_delete_while_booting'):
            self._bypass(name)

    def _bypass(self, name):
        ours = vars(nova_api.API)[name]

        def bypass(api, *args, **kwargs):
            chosen = ours.__wrapped__ if hasattr(self.wanted, 'here') else ours
            return chosen.__get__(api)(*args, **kwargs)
        self.useFixture(fixtures.MonkeyPatch(
            f'nova.compute.api.API.{name}', bypass))


def deliver(context, args):
    """Deliver a message, and do all that it asks for."""
    copied = nova_context.RequestContext.from_dict(context.to_dict())
    uuid, attempt, spec, *others = args
    with futurist.SynchronousExecutor() as executor:
        return endpoint.RebuildEndpoint(executor).rebuild_instance_in_cell0(
            copied, uuid, attempt, spec.obj_clone(), *others)


class Operations:
    """Makes operations; each is a method that returns one."""

    def __init__(self, test):
        self._test = test
        self._messages = test.messages
        self._stock = test.useFixture(StockDelete())

    def body(self, names):
        """Return what a server needs that these are for."""
        body = {}
        if {'port', *DELETES} & set(names):
            port = self._test.neutron.create_port({'port': {
                'network_id': nova_fixtures.NeutronFixture.network_1['id'],
                'tenant_id': self._test.api.project_id}})['port']
            body['networks'] = [{'port': port['id']}]
        if {'flag', 'volume', *DELETES} & set(names) and COMMAND not in names:
            image = self._test.glance.image1['id']
            body['block_device_mapping_v2'] = [
                {'boot_index': 0, 'source_type': 'image', 'uuid': image,
                 'destination_type': 'local', 'delete_on_termination': True},
                {'boot_index': -1, 'source_type': 'volume',
                 'uuid': uuidutils.generate_uuid(),
                 'destination_type': 'volume'}]
        if 'unbound' in names:
            body['flavorRef'] = self._test.device_flavor
        return body

    def make(self, name, server):
        """Return an operation on a server."""
        return getattr(self, '_' + name)(server)

    def _ask(self, server, method, path, body=None, **options):
        client = copy.copy(self._test.admin_api)
        client.microversion = options.get('microversion', base.STOCK)

        def ask():
            return client.api_request(
                f'/servers/{server["id"]}{path}', method=method,
                body=None if body is None else json.dumps(body)).status_code
        return ask

    def _rebuild(self, server):
        return self._ask(server, 'POST', '/action', {'rebuild': {}},
                         microversion=base.ADDED)

    def _unanswered(self, server):
        """Ask for a rebuild that no conductor gets: it is taken back."""
        ask = self._rebuild(server)

        def unanswered():
            # The actor has a thread of its own.
            self._messages.lost.here = True
            return ask()
        return unanswered

    def _rebuild_image(self, server):
        image = self._test.glance.auto_disk_config_enabled_image['id']
        return self._ask(server, 'POST', '/action', {
            'rebuild': {'imageRef': image}}, microversion=base.ADDED)

    def _delete(self, server):
        return self._ask(server, 'DELETE', '')

    def _stock_delete(self, server):
        ask = self._delete(server)

        def stock_delete():
            # The actor has a thread of its own.
            self._stock.wanted.here = True
            return ask()
        return stock_delete

    def _force_delete(self, server):
        return self._ask(server, 'POST', '/action', {'forceDelete': None})

    def _update(self, server):
        # Not its zone, see there: Nova writes that first, and leaves it so if
        # the rest is refused.
        shown = self._test.admin_api.get_server(server['id'])
        return self._ask(server, 'PUT', '', {
            'server': updating.everything(shown)})

    def _zone(self, server):
        return self._ask(server, 'PUT', '', {'server': {
            'pinned_availability_zone': None}})

    def _lock(self, server):
        return self._ask(server, 'POST', '/action', {
            'lock': {'locked_reason': 'because'}})

    def _reset(self, server):
        return self._ask(server, 'POST', '/action', {
            'os-resetState': {'state': 'active'}})

    def _tag(self, server):
        reset = self._reset(server)
        tag = self._ask(server, 'PUT', '/tags/late')
        return lambda: [reset(), tag()]

    def _flag(self, server):
        [volume] = self._test.cinder.volume_ids_for_instance(server['id'])
        return self._ask(
            server, 'PUT', f'/os-volume_attachments/{volume}', {
                'volumeAttachment': {
                    'volumeId': volume, 'delete_on_termination': True}})

    def _group(self, server):
        group = self._test.admin_api.api_get(
            f'/servers/{server["id"]}').body['server']['server_groups']
        client = copy.copy(self._test.admin_api)
        return lambda: client.api_request(
            f'/os-server-groups/{group[0]}', method='DELETE').status_code

    def _port(self, server):
        [port] = [port for port in self._test.neutron._ports
                  if port in json.dumps(server['asked'])]
        return lambda: crossings.cross(
            'neutron', 'delete_port', self._test.neutron._ports.pop,
            port) and 'deleted'

    def _volume(self, server):
        def delete():
            for attachments in (
                    self._test.cinder.volume_to_attachment.values()):
                for found in list(attachments.values()):
                    if found['instance_uuid'] == server['id']:
                        del attachments[found['id']]
            return 'deleted'
        return lambda: crossings.cross(
            'cinder', 'delete_attachments', delete)

    def _recover(self, server):
        take_back = self._take_back(server)

        def recover():
            take_back()
        return recover

    def _take_back(self, server):
        """Recover a rebuild that no conductor has got; tell if it is left."""
        def take_back():
            # What is happening just now counts as old.
            before = timeutils.utcnow() + datetime.timedelta(minutes=1)
            # Other problems are with rows that a delete has removed.
            return any(found.problem == LEFT for found in mend.Recovery(
                before).run([server['id']]))
        return take_back

    def _again(self, server):
        recover, rebuild = self._recover(server), self._rebuild(server)

        def again():
            recover()
            return rebuild()
        return again

    def _bury(self, server):
        context, (requests, specs, *others) = server['message']

        def bury():
            for spec in specs:
                spec.ignore_hosts = ['host1']
            self._create(context, requests, specs, *others)
        return bury

    def _unbound(self, server):
        context, args = server['message']

        def unbound():
            self._test.cyborg.fail_to_bind()
            with contextlib.suppress(
                    exception.AcceleratorRequestBindingFailed):
                self._create(context, *args)
        return unbound

    def _over_quota(self, server):
        context, args = server['message']

        def over_quota():
            self._test.flags(instances=0, group='quota')
            # So Nova ends when it has cleared up.
            with contextlib.suppress(exception.TooManyInstances):
                self._create(context, *args)
            self._test.flags(instances=-1, group='quota')
        return over_quota

    def _create(self, context, *args):
        manager = self._test.conductors[0].manager.compute_task_mgr
        copied = nova_context.RequestContext.from_dict(context.to_dict())
        manager.schedule_and_build_instances(copied, *args)

    def _bury_failed(self, server):
        def bury_failed():
            try:
                bury.bury(nova_context.get_admin_context(), server['id'])
            except (asking.NotAtRest, records.NotFailed):
                return verdicts.NOT_DONE
            return 'buried'
        return bury_failed

    def _deliver(self, server):
        return lambda: deliver(*server['message'])

    def prepare(self, names, server):
        """Do what is to be done before the operations begin."""
        if 'zone' in names:
            updating.pin(server['id'])
        if {'late', 'deliver', 'take_back'} & set(names):
            _, server['message'] = self._messages.hold(self._rebuild(server))
        if 'late' in names:
            self._recover(server)()

    _late = _deliver
