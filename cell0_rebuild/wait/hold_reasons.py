# SPDX-License-Identifier: Apache-2.0

"""What keeps a server waiting whether there is room or not."""

from __future__ import annotations

import datetime
import typing as ty

from cell0_rebuild.wait import pacing
from cell0_rebuild.wait import reasons
from cell0_rebuild.wait import waiting_server as records

if ty.TYPE_CHECKING:
    from oslo_config import cfg


def reason(
    server: records.Waiting, section: cfg.ConfigOpts.GroupAttr,
    now: datetime.datetime,
) -> reasons.Reason | None:
    """Return why a server is not tried now; None if it can be.

    :param section: ``[cell0_rebuild_wait]``.
    :param now: UTC, without a time zone.
    """
    until = next_try(server, section)
    for applies, code in (
            (server.deadline <= now, reasons.Code.EXPIRED),
            (server.held, reasons.Code.HELD),
            (server.locked, reasons.Code.LOCKED),
            (section.pause, reasons.Code.PAUSED),
            (until is not None and until > now, reasons.Code.BACKOFF)):
        if applies:
            return reasons.Reason(code)
    return None


def next_try(
    server: records.Waiting, section: cfg.ConfigOpts.GroupAttr
) -> datetime.datetime | None:
    """Return until when a server rests; None if it has not been tried."""
    return pacing.next_try(server, section.backoff, section.backoff_max)
