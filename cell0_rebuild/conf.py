# SPDX-License-Identifier: Apache-2.0

"""The options of the ``[cell0_rebuild]`` section of nova.conf."""

from __future__ import annotations

from oslo_config import cfg

from cell0_rebuild import option_types

GROUP = cfg.OptGroup(
    'cell0_rebuild',
    title='cell0-rebuild options',
    help='Options of cell0-rebuild, which rebuilds servers that found no host '
         'and were buried in cell0.')

OPTS: list[cfg.Opt] = [
    cfg.StrOpt(
        'api_microversion',
        help="""
The compute API microversion from which a rebuild request may rebuild a server
that is buried in cell0.

Unset, one microversion is added, one above the highest that this Nova has,
and the versions document shows it as the maximum. A request for exactly that
microversion, or for ``latest``, is served as Nova's highest microversion plus
this feature; ``imageRef`` is optional there.

Set to a microversion that this Nova has, for example ``2.93``, nothing is
added and every request from that microversion on can rebuild a buried server.
Set it where clients are newer than Nova, because a later Nova may give the
added number another meaning, or where users should not have to name a
microversion.
"""),
    cfg.StrOpt(
        'rebuild',
        default='buried',
        choices=[
            ('buried', 'a server that found no host'),
            ('never_launched', 'also one that failed in nova-conductor after '
                               'it had found one'),
        ],
        help="""
Which servers are buried in cell0, and so can be rebuilt.

Nova itself buries a server that finds no host. One that fails later shows the
same ERROR, but is in the cell of the host, and its RequestSpec is gone. With
``never_launched``, nova-conductor buries it, too, if it was over quota at the
check after the scheduling, if its resource providers could not be told apart,
or if its accelerators could not be bound. No compute was told of it then. Of
other servers of the same request a compute may have been told. They are left
alone; Nova shows them as ERROR, too.

It also keeps what a rebuild would need of servers that may fail on a compute,
so that "cell0-rebuild-manage bury" can bury them.

The nova-conductor of the API obeys it. It changes nothing for servers that
failed before.
"""),
    cfg.ListOpt(
        'vm_states',
        default=['error'],
        help="""
The vm_states in which a server in cell0 that was never launched counts as
buried. Change it only if your Nova has another state for servers that found
no host.
"""),
    cfg.StrOpt(
        'personality_files',
        default='persist',
        choices=[
            ('persist', 'they are kept in the RequestSpec, in plain text as '
                        'in the create request, from burial to rebuild'),
            ('refuse', 'they are not kept, and a server that was created '
                       'with them cannot be rebuilt from cell0'),
            ('drop', 'they are not kept, and a rebuilt server has none of '
                     'them'),
        ],
        help="""
What becomes of the personality files of a server that is buried in cell0. Only
servers created with a compute API microversion before 2.57 can have some.

nova-conductor obeys it when it buries a server, nova-api when it rebuilds one:
set it alike in both. A server that was buried when files were not kept is
rebuilt, without them, only with ``drop``.
"""),
    cfg.StrOpt(
        'on_mismatch',
        default='refuse',
        choices=[
            ('refuse', 'nova-api and nova-conductor refuse to start'),
            ('stock', 'they run as Nova without this package'),
        ],
        help="""
What nova-api and nova-conductor do when this Nova is not one that the package
can patch. Either way nothing is patched, and the standard error output names
the cause. nova-manage always goes on, with a warning.
"""),
    cfg.BoolOpt(
        'allow_untested_nova',
        default=False,
        help="""
Patch a Nova release outside the range that the package was tested with. The
signatures of all patched functions are still checked.
"""),
    cfg.Opt(
        'answer_timeout',
        type=option_types.Number(min=1),
        default=5,
        help="""
Seconds that nova-api waits for a conductor that can rebuild buried servers to
answer, and then to take the server, before it refuses a rebuild.
"""),
]


def register(conf: cfg.ConfigOpts) -> None:
    """Register the options. A second call does no harm."""
    conf.register_group(GROUP)
    conf.register_opts(OPTS, group=GROUP)


def problems(conf: cfg.ConfigOpts) -> list[str]:
    """Return a sentence for each option with an invalid value."""
    return option_types.problems(conf, GROUP.name, OPTS)


def list_opts() -> list[tuple[cfg.OptGroup, list[cfg.Opt]]]:
    """Return the options for oslo-config-generator."""
    return [(GROUP, OPTS)]
