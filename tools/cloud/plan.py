# SPDX-License-Identifier: Apache-2.0

"""What the cloud consists of and where its parts are."""

from __future__ import annotations

import dataclasses
import json
import os
import pathlib
import urllib.parse

from tests.integration import processes

ROOT = pathlib.Path(__file__).resolve().parents[2]
FOLDER = pathlib.Path(os.environ.get(
    'CELL0_REBUILD_CLOUD', ROOT / '.state' / 'openstack')).resolve()

# Everything is on the loopback and thrown away in the end.
PASSWORD = 'secret'

# The user of the waiting service.
WAITING = 'cell0-waiting'

CELLS = ('cell1', 'cell2')
APIS = ('keystone', 'glance', 'placement', 'neutron', 'cinder', 'nova')
_SERVERS = ('mariadb', 'memcached', 'rabbitmq', 'distribution', 'epmd',
            'metrics')


@dataclasses.dataclass
class Plan:
    """The cloud of a folder.

    :param folder: that everything of the cloud is in.
    :param ports: of the loopback, by the name of what listens there.
    :param computes: maps the name of a nova-compute to its cell.
    :param guests: the computes whose guests run, with libvirt.
    :param enabled: whether Nova has the package.
    :param api_microversion: the option of the package, or None.
    :param show: how servers that wait are shown: ``error`` or ``build``.
    :param rebuild: which servers can be rebuilt, an option of the package.
    :param mapped: the computes that Nova knows the cell of.
    :param steps: what was done already and need not be done again.
    :param database_url: of a MariaDB or MySQL that is there already, or None.
    :param broker_url: of a RabbitMQ that is there already, or None.
    :param memcached_url: of a memcached that is there already, or None.
    """

    folder: pathlib.Path
    ports: dict[str, int]
    computes: dict[str, str]
    guests: list[str] = dataclasses.field(default_factory=list)
    enabled: bool = True
    api_microversion: str | None = None
    show: str = 'error'
    rebuild: str = 'buried'
    mapped: list[str] = dataclasses.field(default_factory=list)
    steps: list[str] = dataclasses.field(default_factory=list)
    database_url: str | None = None
    broker_url: str | None = None
    memcached_url: str | None = None

    @classmethod
    def load(cls, folder):
        """Return the plan of a folder, None if it has none."""
        try:
            stored = json.loads((folder / 'plan.json').read_text())
        except FileNotFoundError:
            return None
        # Who made it may have known fewer services.
        return cls(**{**stored, 'folder': folder, 'ports': {
            **_free_ports(), **stored['ports']}})

    @classmethod
    def make(cls, folder):
        """Return a plan for a new cloud without computes."""
        return cls(folder=folder, computes={}, ports=_free_ports())

    def save(self):
        """Write it to its folder."""
        stored = dataclasses.asdict(self)
        del stored['folder']
        self.folder.mkdir(parents=True, exist_ok=True)
        draft = self.folder / 'plan.draft'
        draft.write_text(json.dumps(stored, indent=1))
        draft.rename(self.folder / 'plan.json')

    def url(self, service):
        """Return the URL of an API."""
        return f'http://127.0.0.1:{self.ports[service]}'

    def database(self, name):
        """Return the URL of a database for SQLAlchemy."""
        server = (self.database_url or
                  f'mysql+pymysql://root@127.0.0.1:{self.ports["mariadb"]}')
        return f'{server.rstrip("/")}/{name}?charset=utf8mb4'

    def broker(self, virtual_host=''):
        """Return the URL of the broker for oslo.messaging."""
        server = (self.broker_url or
                  f'rabbit://guest:guest@127.0.0.1:{self.ports["rabbitmq"]}')
        return f'{server.rstrip("/")}/{virtual_host}'

    @property
    def memcached(self):
        """Return the address of memcached."""
        if self.memcached_url:
            return urllib.parse.urlsplit(self.memcached_url).netloc
        return f'127.0.0.1:{self.ports["memcached"]}'


def _free_ports():
    names = APIS + _SERVERS
    return dict(zip(names, processes.free_ports(len(names))))
