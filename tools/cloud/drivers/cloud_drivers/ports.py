# SPDX-License-Identifier: Apache-2.0

"""A switch that every port can be plugged into, on every host."""

from neutron_lib.api.definitions import portbindings
from neutron_lib import constants
from neutron_lib.plugins.ml2 import api
from sqlalchemy import orm


class MechanismDriver(api.MechanismDriver):
    """Binds a port as soon as it has a host; no agent takes part."""

    def initialize(self):
        """Have Neutron relate its tables to each other.

        It does so at its first query only, and before that it answers 500 to
        a request for ports, the first one after a restart, say.
        """
        orm.configure_mappers()

    def bind_port(self, context):
        """Bind a port to the first segment of its network."""
        context.set_binding(
            context.segments_to_bind[0][api.ID], portbindings.VIF_TYPE_OVS,
            {portbindings.CAP_PORT_FILTER: False},
            status=constants.PORT_STATUS_ACTIVE)
