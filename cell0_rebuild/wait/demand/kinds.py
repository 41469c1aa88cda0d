# SPDX-License-Identifier: Apache-2.0

"""The kinds of the servers that wait, remembered for a while.

To find one takes longer than to ask Placement about it.
"""

from __future__ import annotations

import collections.abc
import time
import typing as ty

from cell0_rebuild.wait.decision import order
from cell0_rebuild.wait.demand import likeness
from cell0_rebuild.wait.demand import queries
from cell0_rebuild.wait.demand import shapes
from cell0_rebuild.wait.demand import spec_key
from cell0_rebuild.wait.memory import times
from cell0_rebuild.wait import texts
from cell0_rebuild.wait import values

if ty.TYPE_CHECKING:
    from nova import context as nova_context
    from nova import objects

# Seconds. A port, a device profile or an aggregate may have changed by then.
_LIFE = 300.0

# The parts of the time in which what is unknown is found, and what is known is
# found again. So many seconds of each are saved up. One half is to look
# servers up, and the other to find their kinds.
_NEW, _AGAIN, _SAVED = 0.2, 0.1, 10.0

_Uuids = collections.abc.Sequence[str]
_ProjectOf = collections.abc.Callable[[str], str]


class Kinds:
    """Remembers the kinds of servers.

    What is too old is still used until it is found again, the oldest of each
    project in turn: so each server has its turn, however many there are.
    """

    def __init__(
        self, context: nova_context.RequestContext,
        clock: collections.abc.Callable[[], float] = time.monotonic,
    ) -> None:
        """Know nothing yet.

        :param context: an administrator's.
        :param clock: seconds that never go back.
        """
        self._context, self._clock = context, clock
        self._new = times.Allowance(_SAVED)
        self._again = times.Allowance(_SAVED)
        # When something of a project was found again last.
        self._served: dict[str, float] = {}
        self._keys = times.Expiring[str, bytes](_LIFE)
        self._known = times.Expiring[
            bytes, ty.Union[values.Kind, values.Reason]](_LIFE)

    def of(
        self, uuids: _Uuids, project_of: _ProjectOf
    ) -> dict[str, values.Kind | values.Reason]:
        """Return the kinds of servers, or why they have none.

        Servers whose kinds cannot be found in time are left out, and so are
        those that are no longer buried.

        :param uuids: those whose kinds are to be found first, first.
        :param project_of: returns the project of a server.
        """
        self._find_new(uuids)
        self._find_again(uuids, project_of)
        found: dict[str, values.Kind | values.Reason] = {}
        for uuid in uuids:
            alike = self._keys.get(uuid)
            kind = None if alike is None else self._known.get(alike)
            if kind is not None:
                found[uuid] = kind
        return found

    def keep(self, uuids: collections.abc.Container[str]) -> None:
        """Forget all other servers, and the kinds that only they had."""
        self._keys.keep(uuids)
        self._known.keep({key for _, key in self._keys.items()})

    def _find_new(self, uuids: _Uuids) -> None:
        begun = self._clock()
        self._new.earn(begun, _NEW)
        self._look_up([uuid for uuid in uuids if uuid not in self._keys],
                      begun + self._new.left / 2)
        # Of very many servers, the look-up alone takes all of its time.
        end = self._clock() + self._new.left / 2
        for key, uuid in self._first_of_each(uuids).items():
            if key not in self._known:
                self._learn(key, uuid, end)
        self._new.spend(self._clock() - begun)

    def _find_again(self, uuids: _Uuids, project_of: _ProjectOf) -> None:
        begun, wanted = self._clock(), set(uuids)
        self._again.earn(begun, _AGAIN)
        self._look_up(order.in_turns(
            [uuid for uuid in self._keys.old(begun) if uuid in wanted],
            project_of), begun + self._again.left / 2)
        first = self._first_of_each(uuids)
        projects = {key: project_of(uuid) for key, uuid in first.items()}
        # Who has waited longest for one comes first.
        old = sorted(
            (key for key in self._known.old(begun) if key in first),
            key=lambda key: self._served.get(projects[key], 0.0))
        end = self._clock() + self._again.left / 2
        for key in order.in_turns(old, projects.__getitem__):
            if self._clock() >= end:
                break
            self._learn(key, first[key], end)
            self._served[projects[key]] = self._clock()
        present = set(projects.values())
        self._served = {one: at for one, at in self._served.items()
                        if one in present}
        self._again.spend(self._clock() - begun)

    def _first_of_each(self, uuids: _Uuids) -> dict[bytes, str]:
        """Return the first server of each key."""
        first: dict[bytes, str] = {}
        for uuid in uuids:
            key = self._keys.get(uuid)
            if key is not None:
                first.setdefault(key, uuid)
        return first

    def _look_up(self, uuids: _Uuids, end: float) -> None:
        for first in range(0, len(uuids), spec_key.PAGE):
            if self._clock() >= end:
                return
            for uuid, key in spec_key.find(
                    self._context,
                    uuids[first:first + spec_key.PAGE]).items():
                self._keys.put(uuid, key, self._clock())

    def _learn(self, key: bytes, uuid: str, end: float) -> None:
        if self._clock() >= end:
            return
        try:
            kind = of(self._context, uuid)
        except shapes.NotBuried:
            self._known.drop(key)
        else:
            if kind is texts.UNKNOWN_DEMANDS:
                # Neutron may be away.
                kind = self._known.get(key) or kind
            self._known.put(key, kind, self._clock())


def of(
    context: nova_context.RequestContext, uuid: str
) -> values.Kind | values.Reason:
    """Return the kind of a server, or why that cannot be told.

    :param context: an administrator's.
    :raises NotBuried: if the server is no longer buried.
    """
    asked = shapes.asked(context, uuid)
    if isinstance(asked, values.Reason):
        return asked
    first, fallback = asked.question
    return values.Kind(
        values.Shape(values.Question(
            queries.canonical(first),
            fallback and queries.canonical(fallback)), _group(asked.spec)),
        likeness.of(asked.spec))


def _group(spec: objects.RequestSpec) -> str | None:
    """Return the server group, unless its policy is only a wish."""
    group = spec.instance_group if 'instance_group' in spec else None
    if group is None or (
            'policy' in group and (group.policy or '').startswith('soft-')):
        return None
    return str(group.uuid)
