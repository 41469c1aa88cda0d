# SPDX-License-Identifier: Apache-2.0

"""Many clients that do anything, at the same time, with the same servers."""

import collections
import concurrent.futures
import contextlib
import random
import threading
import time
import uuid

from oslo_utils import timeutils
import requests

from tests.integration import clients
from tests.integration import standins

# How often each is done.
_WEIGHTS = {
    'rebuild': 30, 'show': 10, 'describe': 10, 'list_all': 5, 'tag': 5,
    'lock': 5, 'create': 4, 'reset': 3, 'delete': 3, 'force_delete': 1}


# One that is asked for so often is not refused by chance.
_OFTEN = 10

# In Nova's answer to a rebuild that meets another one or a delete.
_CONFLICTS = ('UnexpectedTaskStateError', 'UnexpectedDeletingTaskStateError')


class Known:
    """What an owner knows of a server by the answers.

    Changes are made one at a time, so that the last one accepted is there at
    the end; rebuilds, resets and deletes go on meanwhile.

    :param description: what it may be; more than one after an answer that
        does not say whether it was changed. So is locked.
    :param tags: those that were accepted.
    :param rebuilds: when each rebuild that was accepted was sent, by the ID of
        the request. All times are as Nova stores them.
    :param reset: a reset of its state was accepted, or may have been.
    :param deleted: a delete was accepted; None if nobody knows.
    :param deletes: when each delete that was not refused was sent and
        answered.
    """

    def __init__(self, server_id, port):
        self.id = server_id
        self.port = port
        self.description = {None}
        self.locked = {False}
        self.tags = set()
        self.rebuilds = {}
        self.reset = False
        self.deleted = False
        self.deletes = []
        self.change = threading.Lock()

    def delete(self, ask):
        """Delete it; remember how that was answered, and return the answer.

        :param ask: sends the request.
        """
        sent = _now()
        answer = ask()
        if answer.ok or answer.status_code >= 500:
            self.deletes.append((sent, _now()))
        if answer.ok:
            self.deleted = True
        elif answer.status_code >= 500 and not self.deleted:
            self.deleted = None
        return answer


class Crowd:
    """Clients of one cloud.

    :param metadata: one of these has each server that they create.
    :ivar servers: all that were ever made, by ID.
    :ivar answers: counts (operation, code).
    :ivar problems: answers that are wrong at once.
    """

    def __init__(self, cloud, seed, metadata=({},)):
        self.servers = {}
        self.answers = collections.Counter()
        self.problems = []
        self._cloud = cloud
        self._seed = seed
        self._metadata = metadata
        self._guard = threading.Lock()

    def run(self, count, seconds):
        """Let clients do what they like for some time.

        :param count: of the clients.
        """
        self._end = time.monotonic() + seconds
        with concurrent.futures.ThreadPoolExecutor(count + 1) as pool:
            acting = [pool.submit(self._act, number)
                      for number in range(count)]
            acting.append(pool.submit(self._change_capacity))
        for one in acting:
            one.result()

    def add(self, client, chance):
        """Create a server; it has a port, a volume or neither."""
        body = {'name': 'server', 'flavorRef': 'small', 'networks': 'none',
                'imageRef': standins.IMAGE,
                'metadata': chance.choice(self._metadata)}
        port = None
        if chance.random() < 0.6:
            with self._guard:
                port = self._cloud.neutron.add_port()
            body['networks'] = [{'port': port}]
        if chance.random() < 0.4:
            body['block_device_mapping_v2'] = [
                {'boot_index': 0, 'source_type': 'image',
                 'uuid': standins.IMAGE, 'destination_type': 'local',
                 'delete_on_termination': True},
                {'boot_index': -1, 'source_type': 'volume',
                 'uuid': str(uuid.uuid4()), 'destination_type': 'volume'}]
        answer = client.ask('POST', '/servers', {'server': body})
        if answer.status_code == 202:
            server_id = answer.json()['server']['id']
            with self._guard:
                self.servers[server_id] = Known(server_id, port)
        return answer

    def unheard(self):
        """Return what was asked for again and again, and always refused."""
        asked, accepted = collections.Counter(), set()
        for (name, code), count in self.answers.items():
            asked[name] += count
            if isinstance(code, int) and code < 300:
                accepted.add(name)
        return [name for name, count in asked.items()
                if count >= _OFTEN and name not in accepted]

    def _act(self, number):
        chance = random.Random(f'{self._seed} {number}')
        client = clients.Client(self._cloud.url)
        while time.monotonic() < self._end:
            [name] = chance.choices(list(_WEIGHTS), _WEIGHTS.values())
            with self._guard:
                server = chance.choice(list(self.servers.values()))
            try:
                answer = getattr(self, f'_{name}')(client, server, chance)
            except requests.RequestException as error:
                self._note(name, server, type(error).__name__, str(error))
                continue
            if answer is not None:
                self._note(name, server, answer.status_code, answer.text)

    def _note(self, name, server, code, text):
        with self._guard:
            self.answers[name, code] += 1
            # Of a server that boots, Nova itself answers some with 500.
            if not isinstance(code, int) or (name in (
                    'rebuild', 'show', 'list_all', 'create') and code >= 500
                    and not self._is_overtaken(server, text)):
                self.problems.append(f'{name} of {server.id}: {code} {text}')

    def _is_overtaken(self, server, text):
        """Tell whether a launched server's rebuild has met another request.

        Nova answers it with 500 if that is a rebuild or a delete, which is
        shown by :mod:`tests.upstream.test_overtaken`.
        """
        if not any(conflict in text for conflict in _CONFLICTS):
            return False
        answer = clients.Client(self._cloud.url).ask(
            'GET', f'/servers/{server.id}')
        return not answer.ok or bool(
            answer.json()['server']['OS-SRV-USG:launched_at'])

    def _change_capacity(self):
        chance = random.Random(self._seed)
        while time.monotonic() < self._end:
            if chance.random() < 0.5:
                self._cloud.open_host()
            else:
                self._cloud.close_hosts()
            time.sleep(chance.uniform(0.5, 3))

    def _create(self, client, server, chance):
        return self.add(client, chance)

    def _rebuild(self, client, server, chance):
        sent = _now()
        answer = client.rebuild(server.id)
        if answer.ok:
            server.rebuilds[answer.headers['X-OpenStack-Request-Id']] = sent
        return answer

    def _show(self, client, server, chance):
        return client.ask('GET', f'/servers/{server.id}')

    def _list_all(self, client, server, chance):
        answer = client.ask('GET', '/servers')
        if answer.ok:
            found = collections.Counter(
                one['id'] for one in answer.json()['servers'])
            self.problems += [f'{one} is listed {count} times'
                              for one, count in found.items() if count > 1]
        return answer

    def _describe(self, client, server, chance):
        wanted = str(chance.random())
        with _changing(server) as free:
            if not free:
                return None
            created = not server.rebuilds
            answer = client.ask('PUT', f'/servers/{server.id}', {
                'server': {'description': wanted}})
            if answer.status_code >= 500 or (
                    answer.ok and created and _is_scheduled(answer)):
                server.description |= {wanted}
            elif answer.ok:
                server.description = {wanted}
        return answer

    def _tag(self, client, server, chance):
        wanted = f'tag-{chance.randrange(20)}'
        with _changing(server) as free:
            if not free:
                return None
            # Nova lets nobody tag a server in ERROR.
            self._reset(client, server, chance, 'active')
            answer = client.ask(
                'PUT', f'/servers/{server.id}/tags/{wanted}')
            if answer.ok:
                server.tags |= {wanted}
            self._reset(client, server, chance)
        return answer

    def _lock(self, client, server, chance):
        wanted = chance.random() < 0.5
        with _changing(server) as free:
            if not free:
                return None
            answer = self._order(
                client, server, {'lock' if wanted else 'unlock': None})
            if answer.ok:
                server.locked = {wanted}
            elif answer.status_code >= 500:
                server.locked |= {wanted}
        return answer

    def _reset(self, client, server, chance, state='error'):
        answer = self._order(
            client, server, {'os-resetState': {'state': state}})
        server.reset |= answer.ok or answer.status_code >= 500
        return answer

    def _delete(self, client, server, chance):
        return server.delete(
            lambda: client.ask('DELETE', f'/servers/{server.id}'))

    def _force_delete(self, client, server, chance):
        return server.delete(
            lambda: self._order(client, server, {'forceDelete': None}))

    def _order(self, client, server, action):
        return client.ask('POST', f'/servers/{server.id}/action', action)


def _now():
    return timeutils.utcnow().replace(microsecond=0)


def _is_scheduled(answer):
    """Tell whether a server has no host yet, by how it was shown.

    Nova forgets what it is given in its create then, which is shown by
    :mod:`tests.upstream.test_overtaken`.
    """
    return answer.json()['server']['OS-EXT-STS:task_state'] == 'scheduling'


@contextlib.contextmanager
def _changing(server):
    """Have a server for oneself, or not: nobody waits."""
    free = server.change.acquire(blocking=False)
    try:
        yield free
    finally:
        if free:
            server.change.release()
