# SPDX-License-Identifier: Apache-2.0

"""Whether all that is stored of some servers fits together."""

import collections

from cell0_rebuild import objects

_CELLS = ('cell0', 'cell1')

# Of a UUID as a text.
_LENGTH = 36

# The faults of a host that builds or rebuilds a server whose state is reset
# meanwhile, and of a conductor that has no other host for it.
_OVERTAKEN = ("Expected: {'task_state'", 'Exceeded maximum number of retries')

# The fault of a host that cannot delete a server to its end: Placement refuses
# what it tells of itself, because a claim has just changed the provider.
_NOT_DELETED = 'Failed to synchronize the placement service'


class Check:
    """Compares databases, Placement, ports and volumes with what is known.

    To be made when nothing is in progress.

    :ivar problems: a readable line for each thing that is wrong.
    """

    def __init__(self, cloud):
        self.problems = []
        self._cloud = cloud
        self._rows = cloud.dump().rows
        self._mentions = _mentions(self._rows)
        self._consumers = {
            one['consumer_id'] for one in self._rows[
                'placement', 'allocations']}
        self._events = collections.defaultdict(list)
        for event in self._rows['cell1', 'instance_actions_events']:
            self._events[event['action_id']].append(event)
        self._shown = collections.defaultdict(list)
        for server in cloud.api.get('/servers/detail')['servers']:
            self._shown[server['id']].append(server)

    def check(self, server):
        """Check what an owner knows to be a :class:`stress.Known`."""
        if server.deleted is None:
            server.deleted = self._is_gone(server)
        mapping = self._of(server.id, 'api', 'instance_mappings')
        live = [(cell, row) for cell in _CELLS
                for row in self._of(server.id, cell, 'instances')
                if not row['deleted']]
        if self._of(server.id, 'api', 'build_requests'):
            self._wrong(server, 'it has a build request')
        if server.deleted and not self.is_left_by_delete(server):
            self._check_deleted(server, live)
        elif len(live) != 1 or len(mapping) != 1:
            self._wrong(server, f'it has the rows {live}, {mapping}')
        else:
            self._check_live(server, *live[0], mapping[0])

    def check_nobody_else(self, servers):
        """Check that nothing belongs to a server that is not there."""
        living = {server.id for server in servers if not server.deleted
                  or self.is_left_by_delete(server)}
        excused = living | {
            server.id for server in servers if self.is_overtaken(server)}
        for what, owners, rightful in (
                ('listed', set(self._shown), living),
                ('allocations', self._consumers, excused),
                ('ports', self._cloud.neutron.servers(), excused | {
                    server.id for server in servers
                    if self.is_deleted_without_its_host(server)}),
                ('attachments', self._cloud.cinder.servers(but={
                    request for server in servers
                    for request in self.leaving_attachments(server)}),
                 excused)):
            if owners - rightful:
                self.problems.append(f'{what} of {owners - rightful}, which '
                                     f'should be nobody\'s')

    def is_overtaken(self, server):
        """Tell whether a host met a reset of the state, or failed to delete.

        Nova itself then loses the allocation or the attachment, or leaves
        the server in REBUILD, which no check can tell from a fault of the
        package: see :mod:`tests.upstream.test_overtaken`.
        """
        return self.is_left_by_delete(server) or (server.reset and any(
            text in message for text in _OVERTAKEN
            for message in self.faults_of(server)))

    def is_left_by_delete(self, server):
        """Tell whether a host failed to delete a server that is there."""
        return bool(server.deleted) and any(
            _NOT_DELETED in message for message in self.faults_of(server)
        ) and any(
            end['result'] == 'Error' for _, end in self._events_of(
                server, 'terminate_instance')) and not self._is_gone(server)

    def leaving_attachments(self, server):
        """Return the rebuilds on a host that leave the attachments they make.

        Nova itself, which has launched the server before, leaves them if the
        host deletes the server meanwhile, or if a later rebuild has read the
        volumes before: see :mod:`tests.upstream.test_overtaken`.

        :returns: the IDs of the requests.
        """
        rebuilds = self._events_of(server, 'rebuild_instance')
        ends = self._events_of(server, 'terminate_instance')
        return {
            request for request, rebuild in rebuilds
            if (server.deleted and any(_meet(rebuild, end) for _, end in ends))
            or any(later != request and later in server.rebuilds and (
                server.rebuilds[later] <= rebuild['finish_time']
                <= other['finish_time'])
                for later, other in rebuilds
                if rebuild['finish_time'] and other['finish_time'])}

    def is_deleted_without_its_host(self, server):
        """Tell whether nova-api alone has deleted what a host has built.

        Nova itself, if a DELETE has read the row before the host had it,
        leaves the port bound: see :mod:`tests.upstream.test_overtaken`. If it
        has read a build request of ours, that is a defect. It looks alike
        here; ``tests/functional/deletes/test_delete_races.py`` has it.
        """
        actions = self._of(server.id, 'cell1', 'instance_actions')
        return not any(
            action['action'] == 'delete' for action in actions) and any(
                row['deleted'] and row['host'] and row['launched_at']
                and not row['terminated_at'] and build['finish_time']
                and sent <= build['finish_time']
                and sent <= row['deleted_at'] <= answered
                for row in self._of(server.id, 'cell1', 'instances')
                for sent, answered in server.deletes
                for _, build in self._events_of(
                    server, '_do_build_and_run_instance'))

    def _events_of(self, server, work):
        """Return the requests and events of what a compute did."""
        return [(action['request_id'], event) for action in self._of(
                    server.id, 'cell1', 'instance_actions')
                for event in self._events[action['id']]
                if event['event'] == f'compute_{work}']

    def faults_of(self, server):
        """Return the messages of the faults in the real cell."""
        return [row['message']
                for row in self._of(server.id, 'cell1', 'instance_faults')]

    def _check_deleted(self, server, live):
        if live:
            self._wrong(server, f'it is deleted and has the rows {live}')
        if not self._is_gone(server):
            self._wrong(server, 'it is deleted and shown')
        orphans = [key for key in self._tables_of(server, 'cell0')
                   if not self._of(server.id, 'cell0', 'instances')]
        if orphans:
            self._wrong(server, f'it is deleted and has left {orphans}')
        if not any(self._of(server.id, cell, 'instances') for cell in _CELLS):
            self._check_archived(server)

    def _check_archived(self, server):
        """Check that nothing stays that Nova archives with a row in a cell.

        Nova itself leaves the RequestSpec of a create that was deleted before
        it was scheduled.
        """
        left = [
            table for table in ('instance_mappings', 'request_specs')
            for row in self._of(server.id, 'api', table)
            if objects.SECTION in row.get('spec', objects.SECTION)]
        if left:
            self._wrong(server, f'it is deleted, and {left} stay for good')

    def _is_gone(self, server):
        answer = self._cloud.api.ask('GET', f'/servers/{server.id}')
        # An administrator is shown it until it is archived.
        return not answer.ok or answer.json()['server']['status'] == 'DELETED'

    def _check_live(self, server, cell, row, mapping):
        [found] = [one for one in self._rows['api', 'cell_mappings']
                   if one['id'] == mapping['cell_id']] or [{'name': None}]
        if found['name'] != cell or (
                bool(mapping['queued_for_delete'])
                != self.is_left_by_delete(server)):
            self._wrong(server, f'it is in {cell}, its mapping is {mapping}')
        if row['hidden']:
            self._wrong(server, 'it is hidden')
        if cell != 'cell0' and self._tables_of(server, 'cell0'):
            self._wrong(server, f'it is in {cell} and has left '
                                f'{self._tables_of(server, "cell0")}')
        self._check_spec(server, cell)
        self._check_shown(server)
        if not self.is_overtaken(server):
            self._check_resources(server, row)

    def _check_spec(self, server, cell):
        specs = self._of(server.id, 'api', 'request_specs')
        # Nova itself deletes the one of a create that the quota refuses late.
        late = cell != 'cell0' and any(
            'Quota exceeded' in text for text in self.faults_of(server))
        if len(specs) != (0 if late else 1):
            self._wrong(server, f'it has {len(specs)} request specs')
        for spec in specs:
            if (objects.SECTION in spec['spec']) != (cell == 'cell0'):
                self._wrong(server, f'it is in {cell}; what is kept for a '
                                    f'rebuild is not as it should be')

    def _check_shown(self, server):
        answer = self._cloud.api.ask('GET', f'/servers/{server.id}')
        listed = [one['status'] for one in self._shown[server.id]]
        if not answer.ok or listed != [answer.json()['server']['status']]:
            self._wrong(server, f'GET answers {answer.text}, listed {listed}')
            return
        shown = answer.json()['server']
        if (shown['status'] not in ('ACTIVE', 'ERROR')
                and not self.is_overtaken(server)):
            self._wrong(server, f'its status is {shown["status"]}')
        if shown['description'] not in server.description:
            self._wrong(server, f'its description {server.description} '
                                f'became {shown["description"]}')
        if shown['locked'] not in server.locked:
            self._wrong(server, f'locked {server.locked} became '
                                f'{shown["locked"]}')
        if not server.tags <= set(shown['tags']):
            self._wrong(server, f'of the tags {server.tags} there are '
                                f'{shown["tags"]}')

    def _check_resources(self, server, row):
        on_host = row['host'] is not None
        if on_host != (server.id in self._consumers):
            self._wrong(server, f'on host {row["host"]} it has the '
                                f'allocations {not on_host}')
        ports = self._cloud.neutron.ports_of(server.id)
        if server.port and on_host and ports != [server.port]:
            self._wrong(server, f'it should have port {server.port} and has '
                                f'{ports}')
        wanted = {one['attachment_id'] for cell in _CELLS
                  for one in self._of(server.id, cell, 'block_device_mapping')
                  if not one['deleted'] and one['attachment_id']}
        left = self.leaving_attachments(server)
        found = {one for one, maker in self._cloud.cinder.makers_of(
            server.id).items() if one in wanted or maker not in left}
        if wanted != found:
            self._wrong(server, f'its attachments are {wanted} in Nova, '
                                f'{found} in Cinder')

    def _of(self, server_id, database, table):
        return [row for row in self._mentions[server_id][database, table]
                if server_id in (row.get('instance_uuid'), row.get('uuid'))]

    def _tables_of(self, server, database):
        return [table for (found, table), rows
                in self._mentions[server.id].items()
                if found == database and rows]

    def _wrong(self, server, problem):
        self.problems.append(f'{server.id}: {problem}')


def _meet(one, other):
    """Tell whether two events were in progress at the same time."""
    return all(
        first['finish_time'] is None
        or second['start_time'] <= first['finish_time']
        for first, second in ((one, other), (other, one)))


def _mentions(rows):
    """Return the rows by table by each UUID that is in them."""
    found = collections.defaultdict(lambda: collections.defaultdict(list))
    for key, those in rows.items():
        for row in those:
            for value in set(filter(_is_uuid, row.values())):
                found[value][key].append(row)
    return found


def _is_uuid(value):
    return isinstance(value, str) and len(value) == _LENGTH
