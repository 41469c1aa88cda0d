# SPDX-License-Identifier: Apache-2.0

"""What a refusal means: the reason that an owner reads, and who rests."""

from __future__ import annotations

import datetime
import typing as ty

from cell0_rebuild.wait import reasons
from cell0_rebuild.wait import rebuilds

if ty.TYPE_CHECKING:
    from oslo_config import cfg

    from cell0_rebuild.wait import backoff
    from cell0_rebuild.wait import waiting_server

_Outcome = rebuilds.Outcome

# A server is tried soon after nova-api answers again.
_AWAY_MAX = datetime.timedelta(minutes=5)

# An operator may raise a quota. This refusal costs no scheduler call.
_OVER_QUOTA = datetime.timedelta(minutes=5)

NO_ROLE = reasons.Reason(
    reasons.Code.BLOCKED,
    'The waiting service has no role in the project of the server.')

# What owners read in place of an answer that is for operators.
_OWNER_REASONS = {
    _Outcome.NO_ROLE: NO_ROLE,
    _Outcome.NO_ENDPOINT: reasons.Reason(
        reasons.Code.BLOCKED,
        'The project of the server has no endpoint of the compute API.'),
    _Outcome.AWAY: reasons.Reason(
        reasons.Code.BLOCKED,
        'The compute API does not answer the request for the rebuild. It is '
        'asked again later.'),
    **dict.fromkeys((_Outcome.BUSY, _Outcome.GONE), reasons.Reason(
        reasons.Code.ORDER,
        'Another request was first. The server is looked at again soon.')),
}

# The code of each refusal, and whether the whole project rests after it.
_REFUSALS = {
    _Outcome.BUSY: (reasons.Code.ORDER, False),
    _Outcome.GONE: (reasons.Code.ORDER, False),
    _Outcome.BLOCKED: (reasons.Code.BLOCKED, False),
    _Outcome.OVER_QUOTA: (reasons.Code.QUOTA, True),
    _Outcome.NO_ROLE: (reasons.Code.BLOCKED, True),
    _Outcome.NO_ENDPOINT: (reasons.Code.BLOCKED, True),
    _Outcome.FAILED: (reasons.Code.BLOCKED, False),
    _Outcome.AWAY: (reasons.Code.BLOCKED, False),
}


def rest(
    rests: backoff.Backoff, server: waiting_server.Waiting,
    answer: rebuilds.Answer, section: cfg.ConfigOpts.GroupAttr,
    now: datetime.datetime,
) -> reasons.Reason | None:
    """Let a server or its project rest if its rebuild was refused.

    :param rests: what this adds to.
    :returns: why it was refused; None if it was not.
    """
    refusal = _REFUSALS.get(answer.outcome)
    if refusal is None:
        return None
    code, whole_project = refusal
    reason = _OWNER_REASONS.get(
        answer.outcome, reasons.Reason(code, answer.text))
    longest = section.backoff_max
    if answer.outcome is _Outcome.AWAY:
        longest = min(longest, _AWAY_MAX)
    if answer.outcome is _Outcome.OVER_QUOTA:
        # The quota may have room for a smaller server of the project, or an
        # operator may raise it.
        rests.begin(server.uuid, reason, now, section.backoff,
                    min(longest, _OVER_QUOTA))
        longest = section.backoff
    rests.begin(server.project_id if whole_project else server.uuid, reason,
                now, section.backoff, longest)
    return reason


def block(
    rests: backoff.Backoff, server: waiting_server.Waiting, text: str,
    section: cfg.ConfigOpts.GroupAttr, now: datetime.datetime,
) -> reasons.Reason:
    """Let a server rest for which no rebuild is requested.

    :param rests: what this adds to.
    :param text: why, for its owner.
    :returns: why.
    """
    reason = reasons.Reason(reasons.Code.BLOCKED, text)
    rests.begin(server.uuid, reason, now, section.backoff, section.backoff_max)
    return reason
