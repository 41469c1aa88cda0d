# SPDX-License-Identifier: Apache-2.0

"""What Prometheus can read of the service."""

from __future__ import annotations

import collections
import socket

import prometheus_client as prometheus

from cell0_rebuild.wait import option_types
from cell0_rebuild.wait import known
from cell0_rebuild.wait import values

_PREFIX = 'cell0_rebuild_wait'
# Seconds: from what a user does not notice to the longest default time.
_WAITS = (60, 300, 900, 3600, 3 * 3600, 6 * 3600, 12 * 3600, 24 * 3600,
          3 * 24 * 3600, 7 * 24 * 3600)


def check(address: option_types.Address) -> None:
    """Check that Prometheus can be answered at an address.

    :raises OSError: if it cannot be used.
    """
    # By position: older releases of eventlet name the arguments differently.
    family = socket.getaddrinfo(
        address.host, address.port, 0, socket.SOCK_STREAM)[0][0]
    socket.create_server(address, family=family).close()


class Metrics:
    """Keeps the figures of all sweeps, and serves them."""

    def __init__(self) -> None:
        self.registry = prometheus.CollectorRegistry()
        self._waiting = self._gauge(
            'servers', 'Servers that wait, by reason.', ['reason'])
        self._shapes = self._gauge('shapes', 'Different ones among them.')
        self._oldest = self._gauge(
            'oldest_seconds', 'How long the oldest of them has waited.')
        self._without_role = self._gauge(
            'projects_without_role', 'Projects in which it has no role.')
        self._probes = self._counter(
            'probes', 'Questions to Placement for room.')
        self._probe_seconds = self._counter(
            'probe_seconds', 'How long these took.')
        self._oldest_answer = self._gauge(
            'oldest_answer_seconds', 'How old the oldest answer to them is.')
        self._requests = self._counter(
            'requests', 'Rebuilds that were requested, by answer.',
            ['answer'])
        self._ended = self._counter(
            'rebuilds', 'Rebuilds that were accepted, by what became of the '
            'server.', ['result'])
        self._expired = self._counter(
            'expired', 'Servers whose time became over.')
        self._waited = prometheus.Histogram(
            f'{_PREFIX}_placed_seconds',
            'From the creation of a server until it was seen on its host.',
            buckets=_WAITS, registry=self.registry)
        self._sweeps = prometheus.Histogram(
            f'{_PREFIX}_sweep_seconds', 'How long sweeps took.',
            registry=self.registry)

    def serve(self, address: option_types.Address) -> None:
        """Answer Prometheus from now on.

        :raises OSError: if the address cannot be used.
        """
        prometheus.start_http_server(
            address.port, address.host, self.registry)

    def note(self, result: known.SweepResult, seconds: float) -> None:
        """Add what a whole sweep has found.

        :param seconds: how long it took.
        """
        self.show(result)
        self._probes.inc(result.probes)
        self._probe_seconds.inc(result.probe_seconds)
        self._sweeps.observe(seconds)

    def show(self, result: known.SweepResult) -> None:
        """Show who waits.

        :param result: of the last sweep; an empty one if another leads.
        """
        counts = collections.Counter(
            reason.code for reason in result.reasons.values())
        for code in values.Code:
            self._waiting.labels(code.value).set(counts[code])
        self._shapes.set(result.shapes)
        self._oldest.set(result.oldest_seconds)
        self._oldest_answer.set(result.oldest_answer_seconds)
        self._without_role.set(len(result.without_role))

    def count(self, result: known.SweepResult) -> None:
        """Add the requests of a sweep, also of one that was broken off."""
        for answer in result.answers.values():
            self._requests.labels(answer.outcome.value).inc()
        self._expired.inc(result.expired)
        for ended in result.ended.values():
            self._ended.labels(ended.state.value).inc()
            if ended.waited is not None:
                self._waited.observe(ended.waited.total_seconds())

    def _gauge(
        self, name: str, text: str, labels: list[str] | None = None
    ) -> prometheus.Gauge:
        return prometheus.Gauge(
            f'{_PREFIX}_{name}', text, labels or [], registry=self.registry)

    def _counter(
        self, name: str, text: str, labels: list[str] | None = None
    ) -> prometheus.Counter:
        return prometheus.Counter(
            f'{_PREFIX}_{name}', text, labels or [], registry=self.registry)
