# SPDX-License-Identifier: Apache-2.0

"""Nova's messages, for a command that sends none."""

from __future__ import annotations

from oslo_config import cfg


def set_up() -> None:
    """Let Nova's code that wants a broker find one that is not asked.

    A broker that is down must not hold up a command, for nobody would give up
    a notification.
    """
    from nova import rpc
    import oslo_messaging as messaging
    messaging.get_notification_transport(cfg.CONF)
    cfg.CONF.set_override(
        'driver', ['noop'], group='oslo_messaging_notifications')
    rpc.init(cfg.CONF)
