# SPDX-License-Identifier: Apache-2.0

"""A stand-in for Cinder that knows what is attached to what.

With it a test can see what a server has left, and have an image written.
"""

import json
import threading
import uuid

from tests.integration import standins

_VERSIONS = {'versions': [{
    'id': 'v3.0', 'status': 'CURRENT', 'version': '3.71',
    'min_version': '3.0'}]}
_CREATED = '2026-01-01T00:00:00Z'


class _Handler(standins._Handler):

    def answer(self, path):
        """Describe a volume, an attachment or the API."""
        collection, identity = path.split('/')[-2:]
        if collection == 'volumes':
            return {'volume': self.cinder.volume(identity)}
        if collection == 'attachments':
            return self.cinder.attachment(identity)
        return _VERSIONS

    def do_POST(self):
        """Reserve a volume, or act on one or on an attachment."""
        parts, body = self.path.split('/'), self._body()
        if parts[-1] == 'attachments':
            self.respond(self.cinder.reserve(
                body['attachment']['volume_uuid'],
                body['attachment']['instance_uuid'],
                self.headers['X-OpenStack-Request-ID']))
        elif 'os-reimage' in body:
            self.cinder.write_image(parts[-2], body['os-reimage']['image_id'])
            self.respond({})
        else:
            self.respond(self.cinder.complete(parts[-2]))

    def do_PUT(self):
        """Give an attachment a connection."""
        self._body()
        self.do_GET()

    def do_DELETE(self):
        """Delete an attachment, or a volume, whichever it is."""
        *_, collection, identity = self.path.split('/')
        self.respond({} if collection == 'volumes'
                     else self.cinder.release(identity))

    def _body(self):
        return json.loads(self.rfile.read(int(self.headers['Content-Length'])))


class Cinder(standins._Server):
    """Has any volume, each with an image on it.

    :ivar written: the images that were written, by volume.
    """

    def _setUp(self):
        self.handler = type('Handler', (_Handler,), {'cinder': self})
        super()._setUp()
        self.written = {}
        self._attachments = {}
        self._lock = threading.Lock()

    def makers_of(self, server_id):
        """Return by which request each attachment of a server was made."""
        with self._lock:
            return {identity: found['maker']
                    for identity, found in self._attachments.items()
                    if found['instance'] == server_id}

    def servers(self, but=()):
        """Return the IDs of all servers that have an attachment.

        :param but: requests; what they have made does not count.
        """
        with self._lock:
            return {found['instance'] for found in self._attachments.values()
                    if found['maker'] not in but}

    def volume(self, identity):
        """Describe a volume."""
        with self._lock:
            status = next(
                (found['status'] for found in self._attachments.values()
                 if found['volume_id'] == identity), 'available')
        return {
            'id': identity, 'status': status, 'size': 1, 'bootable': 'true',
            'multiattach': False, 'attachments': [],
            'availability_zone': 'nova', 'metadata': {}, 'name': '',
            'description': '', 'volume_type': None, 'snapshot_id': None,
            'created_at': _CREATED, 'volume_image_metadata': {
                'image_id': self.written.get(identity, standins.IMAGE)}}

    def attachment(self, identity):
        """Describe an attachment; None if there is none."""
        with self._lock:
            found = self._attachments.get(identity)
        return found and {'attachment': {
            'id': identity, 'connection_info': {}, **found}}

    def reserve(self, volume_id, server_id, maker):
        """Make an attachment.

        :param maker: the ID of the request to Nova that it is made for.
        """
        made = str(uuid.uuid4())
        with self._lock:
            self._attachments[made] = {
                'volume_id': volume_id, 'instance': server_id,
                'status': 'reserved', 'maker': maker}
        return self.attachment(made)

    def complete(self, identity):
        """Note that a server uses its volume; None if it may not."""
        with self._lock:
            found = self._attachments.get(identity)
            if found is None:
                return None
            found['status'] = 'in-use'
        return {}

    def release(self, identity):
        """Delete an attachment; None if there is none."""
        with self._lock:
            found = self._attachments.pop(identity, None)
        return None if found is None else {'attachments': []}

    def write_image(self, volume_id, image_id):
        """Write an image to a volume."""
        with self._lock:
            self.written[volume_id] = image_id
