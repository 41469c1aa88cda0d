# SPDX-License-Identifier: Apache-2.0

"""Options of tempest.conf."""

from __future__ import annotations

from oslo_config import cfg

SERVICE_OPTION = cfg.BoolOpt(
    'cell0_rebuild',
    default=False,
    help='Whether Nova runs with cell0-rebuild, so that servers that found no '
         'host can be rebuilt.')

GROUP = cfg.OptGroup(name='cell0_rebuild', title='cell0-rebuild options')

OPTS = [
    cfg.StrOpt(
        'microversion',
        help='What [cell0_rebuild] api_microversion of nova.conf is set to: '
             'the first compute API microversion that rebuilds a buried '
             'server. Unset, it is the highest that the cloud shows, as it '
             'is when that option is unset.'),
    cfg.BoolOpt(
        'volumes',
        default=True,
        help='Whether servers can boot from volumes. The tests of those are '
             'skipped without Cinder in any case.'),
    cfg.BoolOpt(
        'waiting',
        default=False,
        help='Whether cell0-rebuild-wait runs, which rebuilds servers that '
             'ask to wait.'),
    cfg.StrOpt(
        'who',
        default='asked',
        choices=['asked', 'all', 'off'],
        help='What [cell0_rebuild_wait] who of nova.conf is set to.'),
    cfg.StrOpt(
        'show',
        default='error',
        choices=['error', 'build'],
        help='What [cell0_rebuild_wait] show of nova.conf is set to.'),
]
