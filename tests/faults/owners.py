# SPDX-License-Identifier: Apache-2.0

"""The owner of a server, who updates it before, during and after a rebuild."""

import contextlib
import json
import pkgutil

import fixtures
from nova import context as nova_context
from nova import exception
from nova import objects

from tests.faults.agent import crossings
from tests.functional.support import recovering
from tests.functional.support import updating


class Owner(fixtures.Fixture):
    """Updates a server, and knows what was accepted.

    A PUT changes all that one can change but the description. That is for
    requests which have read the build request and write it late. Its volume
    was to go with it, and is to stay from then on.

    :ivar accepted: what the server is to show.
    :ivar keeps: whether it was accepted that the volume stays.
    """

    def __init__(self, api):
        self._api = api
        self._server_id = self._volume_id = None
        self._late = 0
        self._is_late = True
        self.accepted = {}
        self.keeps = False

    def _setUp(self):
        # Before nova-api moves it, and when it is handed over.
        self._before(recovering.PROBE, self._put)
        self._before(recovering.END, self._write_late)

    def _before(self, name, act):
        original = pkgutil.resolve_name(name)

        def called(*args, **kwargs):
            # It is not what the two processes do.
            with crossings.acting(None):
                act()
            return original(*args, **kwargs)
        self.useFixture(fixtures.MonkeyPatch(name, called))

    def begin(self):
        """Know nothing of another server."""
        self.accepted.clear()
        self.keeps = False

    @contextlib.contextmanager
    def at_work(self, server):
        """Update a server at each step of its rebuild, where one was lost."""
        self._server_id, self._is_late = server['id'], True
        self._volume_id = server['volume']
        try:
            yield
        finally:
            self._server_id = None

    def update(self, server):
        """Update a server in every way, after a rebuild was interrupted.

        One request was late, if it has not ended during the rebuild.
        """
        self._server_id, self._volume_id = server['id'], server['volume']
        self._put()
        self._write_late()
        self._server_id = None

    def shown(self, server):
        """Return what is left of what was accepted."""
        return updating.shown(
            self._api.get_server(server['id']), self.accepted)

    def _put(self):
        if self._server_id is None:
            return
        path = f'/servers/{self._server_id}'
        shown = self._api.api_request(path)
        if shown.status_code != 200:
            return
        asked = updating.everything(shown.json()['server'])
        del asked['description']
        answer = self._api.api_request(
            path, method='PUT', body=json.dumps({'server': asked}))
        if answer.status_code == 200:
            self.accepted.update(asked)
        answer = self._api.api_request(
            f'{path}/os-volume_attachments/{self._volume_id}', method='PUT',
            body=json.dumps({'volumeAttachment': {
                'volumeId': self._volume_id,
                'delete_on_termination': False}}))
        self.keeps |= answer.status_code == 202

    def _write_late(self):
        if self._server_id is None or not self._is_late:
            return
        with contextlib.suppress(exception.BuildRequestNotFound):
            build_request = objects.BuildRequest.get_by_instance_uuid(
                nova_context.get_admin_context(), self._server_id)
            self._late += 1
            late = f'late {self._late}'
            build_request.instance.display_description = late
            build_request.save()
            self._is_late = False
            self.accepted['description'] = late
