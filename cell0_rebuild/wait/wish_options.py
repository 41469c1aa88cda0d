# SPDX-License-Identifier: Apache-2.0

"""The options that say who waits, how long, and how that is shown.

They are in the ``[cell0_rebuild_wait]`` section of nova.conf, too. A
nova-conductor needs them when it buries a server.
"""

from __future__ import annotations

from oslo_config import cfg

from cell0_rebuild import option_types as common_types
from cell0_rebuild.wait import option_types
from cell0_rebuild.wait import wishes

GROUP = cfg.OptGroup(
    'cell0_rebuild_wait',
    title='Options of the waiting service',
    help='Options of cell0-rebuild-wait, which rebuilds servers that wait in '
         'cell0 as soon as there is room, and of "cell0-rebuild-manage wait".')

OPTS: list[cfg.Opt] = [
    cfg.StrOpt(
        'who',
        default='asked',
        mutable=True,
        choices=[
            ('asked', 'those whose owner or flavor asks'),
            ('all', 'all whose owner or flavor does not refuse'),
            ('off', 'none'),
        ],
        help="""
Which servers wait when they find no host.

The owner asks when the server is created, with its property
``cell0_rebuild_wait``: ``yes``, ``no`` or a duration such as ``90m``, ``2h``
or ``1d``. The extra spec ``cell0_rebuild:wait`` of a flavor says the same for
its servers; the owner comes first.
"""),
    cfg.Opt(
        'default_time',
        type=option_types.Duration(),
        default='1d',
        mutable=True,
        help="""
How long a server waits, from its creation, if nobody says how long:
``45s``, ``90m``, ``2h`` or ``1d``.
"""),
    cfg.Opt(
        'max_time',
        type=option_types.Duration(),
        default='7d',
        mutable=True,
        help="""
How long a server waits at most. Who asks for more waits as long as this.
"""),
    cfg.Opt(
        'max_waiting_per_project',
        type=common_types.Number(min=0),
        default=0,
        mutable=True,
        help="""
How many servers of a project wait at most, the oldest first. The others do not
wait until one of these no longer does, for example because its time is over. 0
is no limit.
"""),
    cfg.StrOpt(
        'show',
        default='error',
        mutable=True,
        choices=[
            ('error', 'ERROR, as any other that found no host'),
            ('build', 'BUILD until it is placed or waits no longer, if its '
                      'owner or flavor asked that it waits'),
        ],
        help="""
The status that users see of a server that waits. Set it alike for
nova-conductor, which shows it from the burial on.
"""),
]


def register(conf: cfg.ConfigOpts) -> None:
    """Register the options; doing it again is harmless."""
    conf.register_group(GROUP)
    conf.register_opts(OPTS, group=GROUP)


def site(conf: cfg.ConfigOpts) -> wishes.Site:
    """Return what the options say of who waits."""
    section = conf[GROUP.name]
    return wishes.Site(section.who, section.default_time, section.max_time)
