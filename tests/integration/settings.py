# SPDX-License-Identifier: Apache-2.0

"""The configuration files of the cloud."""

import configparser
import dataclasses
import pathlib

# What the documentation tells an operator to add to nova.conf.
ENABLED = {
    'DEFAULT': {'config_source': 'cell0_rebuild'},
    'cell0_rebuild': {'driver': 'cell0_rebuild'},
}

# The token that Placement's noauth2 takes for an administrator's.
_TOKEN = 'admin'


def write(path, options):
    """Write a configuration file, options by section, and return its path."""
    parser = configparser.ConfigParser(interpolation=None)
    parser.read_dict(options)
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open('w') as stream:
        parser.write(stream)
    return path


@dataclasses.dataclass(frozen=True)
class Settings:
    """Where everything is.

    :param folder: of the cloud.
    :param database: maps the name of a database to its URL.
    """

    folder: pathlib.Path
    database: dict[str, str]
    broker: str
    placement: str
    glance: str
    neutron: str
    cinder: str
    keystone: str

    def write_nova(self, name, *changes):
        """Write the nova.conf of one service and return its path.

        :param name: is its host name as well.
        :param changes: options by section, applied in order.
        """
        options = self._nova(name)
        for change in changes:
            for section, values in change.items():
                options.setdefault(section, {}).update(values)
        return self._write(name, 'nova.conf', options)

    def databases(self, cell):
        """Return the change that lets a service use the databases.

        :param cell: the name of the one that is its cell's.
        """
        return {'database': {'connection': self.database[cell]},
                'api_database': {'connection': self.database['api']}}

    def write_placement(self):
        """Write placement.conf and return its path."""
        return self._write('placement', 'placement.conf', {
            'api': {'auth_strategy': 'noauth2'},
            'placement_database': {
                'connection': self.database['placement'],
                'sync_on_startup': 'true'},
        })

    def write_paste(self, name, shipped):
        """Write Nova's api-paste.ini without the filter that is Keystone's.

        What it would put into the headers is up to the client then.
        """
        text = shipped.read_text()
        assert ' authtoken ' in text, shipped
        (self.folder / 'etc' / name / 'api-paste.ini').write_text(
            text.replace(' authtoken ', ' '))

    def _nova(self, name):
        state = self.folder / 'state' / name
        state.mkdir(parents=True, exist_ok=True)
        return {
            'DEFAULT': {
                'host': name,
                'transport_url': self.broker,
                'state_path': str(state),
                'concurrency_backend': 'threading',
                'compute_driver': 'fake.MediumFakeDriver',
                # A database that nobody writes to must not change.
                'periodic_enable': 'false',
                # A report of a compute that is lost with a conductor keeps it
                # from the next for a minute, which is the default of this.
                'service_down_time': '600',
            },
            'placement': {
                'auth_type': 'admin_token', 'token': _TOKEN,
                'endpoint': self.placement},
            'glance': {'endpoint_override': self.glance},
            'neutron': {
                'auth_type': 'none', 'endpoint_override': self.neutron},
            'cinder': {
                'endpoint_template': f'{self.cinder}/v3/%(project_id)s'},
            'keystone': {'endpoint_override': self.keystone},
            'oslo_concurrency': {'lock_path': str(state)},
            'quota': {'instances': '-1', 'cores': '-1', 'ram': '-1'},
            # A list has all servers, however many there are.
            'api': {'max_limit': '100000'},
            'conductor': {'workers': '1'},
            'scheduler': {'workers': '1'},
            'vnc': {'enabled': 'false'},
        }

    def _write(self, name, file, options):
        return write(self.folder / 'etc' / name / file, options)
