# SPDX-License-Identifier: Apache-2.0

"""All options of the ``[cell0_rebuild_wait]`` section of nova.conf.

nova-conductor reads those of :mod:`wish_options`, nova-api reads none.
"""

from __future__ import annotations

from keystoneauth1 import loading
from oslo_config import cfg

from cell0_rebuild import option_types as common_types
from cell0_rebuild.wait import option_types
from cell0_rebuild.wait import wish_options

# So that those who need all options need not know that they are in two files.
GROUP = wish_options.GROUP

_PACE: list[cfg.Opt] = [
    cfg.StrOpt(
        'order',
        default='fair',
        mutable=True,
        choices=[
            ('fair', 'the older a server is, and the less of its quota its '
                     'project uses, the earlier it is; a whole quota in use '
                     'counts as much as a week'),
            ('fifo', 'the oldest server is first'),
        ],
        help="""
Which of the servers that there is room for is rebuilt first.
"""),
    cfg.Opt(
        'probe_budget',
        type=common_types.Number(min=1, max=100),
        default=5,
        mutable=True,
        help="""
How much of the time of one worker of Placement the service may take, in
percent. How often it asks follows from that: between every 2 seconds and
every minute, and down to four times a second while servers come back.
"""),
    cfg.Opt(
        'at_once',
        type=common_types.Number(min=1),
        default=4,
        mutable=True,
        help="""
For how many servers of the same demands the scheduler is asked for a host at
the same time, at most. The service begins with one, and doubles with each that
finds a host. Those that are being built on a host do not count.
"""),
    cfg.Opt(
        'per_minute',
        type=common_types.Number(min=1),
        default=60,
        mutable=True,
        help="""
How many rebuilds are requested in a minute, at most.
"""),
    cfg.Opt(
        'backoff',
        type=option_types.Duration(),
        default='60s',
        mutable=True,
        help="""
How long a server rests after a rebuild that found no host. The time doubles
with each further one in a row.
"""),
    cfg.Opt(
        'backoff_max',
        type=option_types.Duration(),
        default='30m',
        mutable=True,
        help="""
How long a server rests at most. Each rest is up to a fifth longer or shorter,
so that servers that failed together do not come back together.
"""),
    cfg.BoolOpt(
        'pause',
        default=False,
        mutable=True,
        help="""
Request no rebuilds. Servers go on waiting, and their time goes on.
"""),
]

_SERVICE: list[cfg.Opt] = [
    cfg.Opt(
        'metrics',
        type=option_types.Listener(),
        sample_default='127.0.0.1:9190',
        help="""
Where the service offers its metrics to Prometheus, as ``HOST:PORT``. Unset, it
does not. Anyone who can reach it can read them.
"""),
    cfg.Opt(
        'backend_url',
        type=option_types.Url(),
        secret=True,
        sample_default='file:///var/lib/nova/cell0-rebuild-wait',
        help="""
The URL of a backend of tooz. With it, of several such services one works and
the others stand by. Without it all work, which does no harm and takes more of
Placement's time.
"""),
]

OPTS: list[cfg.Opt] = [*wish_options.OPTS, *_PACE, *_SERVICE]

# Seconds. Nova sets no time for what it asks other services.
_TIMEOUT = 60
# Those that are asked what a server asks for, and who has room. Placement is
# asked in turns: a question that takes long must not keep the others.
_TIMEOUTS = {'placement': 10, **dict.fromkeys(
    ('neutron', 'cinder', 'glance', 'cyborg'), _TIMEOUT)}

# The scope of a token is the project of the server that is rebuilt.
_USER = ('auth_url', 'username', 'user_id', 'user_domain_name',
         'user_domain_id', 'password')


def register(conf: cfg.ConfigOpts) -> None:
    """Register the options; doing it again is harmless."""
    conf.register_group(GROUP)
    conf.register_opts([*OPTS, *_client_opts()], group=GROUP)
    loading.register_auth_conf_options(conf, GROUP.name)


def limit_times(conf: cfg.ConfigOpts) -> None:
    """Have no service of this process be waited for without end.

    :param conf: in which Nova's options are registered. What a file says
        comes before this.
    """
    for group, seconds in _TIMEOUTS.items():
        conf.set_default('timeout', seconds, group)


def problems(conf: cfg.ConfigOpts) -> list[str]:
    """Return a sentence for each option whose value cannot be.

    Keystone's own are checked when a token is asked for.

    :param conf: has the options of ``[cell0_rebuild]`` too.
    """
    return (common_types.problems(conf, GROUP.name, [*OPTS, *_client_opts()])
            or _refused_by_nova_api(conf))


def _refused_by_nova_api(conf: cfg.ConfigOpts) -> list[str]:
    # Nova is imported only when it is needed.
    from nova.compute import vm_states
    if (conf[GROUP.name].show == 'build'
            and vm_states.BUILDING not in conf.cell0_rebuild.vm_states):
        return [f'[{GROUP.name}] show = build needs {vm_states.BUILDING} in '
                f'[cell0_rebuild] vm_states, or nova-api refuses to rebuild '
                f'what is shown so']
    return []


def list_opts() -> list[tuple[cfg.OptGroup, list[cfg.Opt]]]:
    """Return the options for oslo-config-generator."""
    return [(GROUP, [
        *OPTS, *loading.get_auth_common_conf_options(),
        *(opt for opt in loading.get_auth_plugin_conf_options('password')
          if opt.dest in _USER),
        *_client_opts()])]


def _client_opts() -> list[cfg.Opt]:
    """Return keystoneauth's options of a session and an adapter."""
    opts = [*loading.get_session_conf_options(),
            *loading.get_adapter_conf_options(include_deprecated=False)]
    # Without a time, an API that hangs would stop the service for ever.
    cfg.set_defaults(opts, timeout=_TIMEOUT, service_type='compute',
                     valid_interfaces=['internal', 'public'])
    return opts
