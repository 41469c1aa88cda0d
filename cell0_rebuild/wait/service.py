# SPDX-License-Identifier: Apache-2.0

"""Sweeps again and again, until it is told to stop.

What does not answer is asked again after a while, and said once: the service
ends for nothing else than a signal.
"""

from __future__ import annotations

import functools
import threading
import time
import typing as ty

from oslo_config import cfg
from oslo_db import exception as db_exc
from oslo_log import log as logging
from oslo_service import service
import tenacity
import tooz

from cell0_rebuild import exceptions
from cell0_rebuild.wait import factory
from cell0_rebuild.wait import leader
from cell0_rebuild.wait import options
from cell0_rebuild.wait import outages
from cell0_rebuild.wait import pacing
from cell0_rebuild.wait import rebuilds
from cell0_rebuild.wait import sweep

if ty.TYPE_CHECKING:
    from cell0_rebuild.wait import metrics

LOG = logging.getLogger(__name__)

# Seconds between two tries while something does not answer.
_WAIT = tenacity.wait_exponential(min=2, max=60)

# Seconds between two looks for the lead.
_STANDBY = 5

# All else is a mistake in this package, or in Nova.
_OUTAGES = (exceptions.NoApi, rebuilds.WrongOptions, tooz.ToozError,
            db_exc.DBError, *outages.ALL)


class WaitingService(service.ServiceBase):  # type: ignore[misc]
    """Runs sweeps in a thread."""

    def __init__(self, make: ty.Callable[[], sweep.Sweeper]) -> None:
        """:param make: makes a sweeper; called again after an outage."""
        super().__init__()
        self._make = make
        self._sweeper: sweep.Sweeper | None = None
        self._stopped = threading.Event()
        self._thread: threading.Thread | None = None
        self._said: set[tuple[str, str]] = set()
        self._metrics: metrics.Metrics | None = None

    def check_backend(self) -> None:
        """Check that ``backend_url`` can be used; ask nobody.

        :raises WrongOptions: if it cannot.
        """
        section = options.GROUP.name
        try:
            leader.Leader(cfg.CONF[section].backend_url).check()
        except ValueError as error:
            raise rebuilds.WrongOptions(
                f'[{section}] backend_url: {error}') from error

    def check_metrics(self) -> None:
        """Check that Prometheus can be answered, if the options say so.

        :raises WrongOptions: if it cannot.
        """
        section = options.GROUP.name
        address = cfg.CONF[section].metrics
        if address is None:
            return
        try:
            # Its library need not be there where nobody asks for metrics.
            from cell0_rebuild.wait import metrics
            metrics.check(address)
        except (ImportError, OSError) as error:
            raise rebuilds.WrongOptions(
                f'[{section}] metrics cannot be served: {error}') from error
        self._metrics = metrics.Metrics()

    def start(self) -> None:
        """Begin, in the process that sweeps.

        oslo.service may have forked it.
        """
        self._stopped.clear()
        if self._metrics is not None:
            self._serve(self._metrics)
        self._thread = threading.Thread(target=self._run, name='sweeps')
        self._thread.start()

    def stop(self, graceful: bool = False) -> None:
        """End after the sweep in progress, and wait for that.

        The process goes when this returns.
        """
        self._stopped.set()
        self.wait()

    def wait(self) -> None:
        """Return when it has ended."""
        if self._thread is not None:
            self._thread.join()

    def reset(self) -> None:
        """Log once more what was logged before.

        A sweep reads the options each time.
        """
        self._said.clear()

    def _serve(self, figures: metrics.Metrics) -> None:
        try:
            figures.serve(cfg.CONF[options.GROUP.name].metrics)
        except OSError as error:
            LOG.warning('Metrics cannot be served: %s', error)

    def _run(self) -> None:
        LOG.info('Waiting for capacity in the name of servers in cell0.')
        lead = leader.Leader(cfg.CONF[options.GROUP.name].backend_url)
        while not self._stopped.is_set():
            retrying = tenacity.Retrying(
                wait=_WAIT, sleep=tenacity.sleep_using_event(self._stopped),
                stop=tenacity.stop_when_event_set(self._stopped),
                before_sleep=functools.partial(_say_outage, set()),
                reraise=True)
            try:
                pause = retrying(self._turn, lead)
            except Exception:
                if self._stopped.is_set():
                    break  # The last try failed.
                LOG.exception('The outage could not be told.')
                pause = pacing.LONGEST
            else:
                if retrying.statistics.get('attempt_number', 1) > 1:
                    LOG.info('What did not answer does so again.')
            self._stopped.wait(pause)
        lead.end()
        LOG.info('Stopped.')

    def _forget(self, result: sweep.SweepResult) -> None:
        """Keep what was said of servers that are still there.

        A project is not told again when its rest is over.
        """
        problems = set(result.problems.values())
        self._said = {
            (project_id, text) for project_id, text in self._said
            if project_id or text in problems}

    def _turn(self, lead: leader.Leader) -> float:
        """Sweep once, if it is for this service; return how long to rest."""
        if not lead.leads():
            return _STANDBY
        factory.check()
        sweeper = self._sweeper
        if sweeper is None:
            sweeper = self._sweeper = self._make()
        started, result = time.monotonic(), sweep.SweepResult()
        try:
            sweeper.sweep(result, self._stopped.is_set)
            self._forget(result)
        finally:
            report(result, self._said)
            if self._metrics is not None:
                self._metrics.count(result)
        took = time.monotonic() - started
        if self._metrics is not None:
            self._metrics.note(result, took)
        budget = cfg.CONF[options.GROUP.name].probe_budget
        each = result.probe_seconds / result.probes if result.probes else 0.0
        return pacing.pause(
            pacing.interval(result.shapes, each, budget),
            took - result.request_seconds)


def report(result: sweep.SweepResult, said: set[tuple[str, str]]) -> None:
    """Log what a sweep has done.

    :param said: the projects, and the problems, that were logged before;
        changed.
    """
    for uuid, answer in result.answers.items():
        LOG.info('Rebuild %s.', f'{answer.outcome.value}: {answer.text}'
                 if answer.text else answer.outcome.value, instance_uuid=uuid)
    for uuid, ended in result.ended.items():
        LOG.info('The server is %s.', ended.state.value, instance_uuid=uuid)
    for text, uuids in _problems(result).items():
        if ('', text) not in said:
            LOG.warning('%s', _counted(text, uuids), instance_uuid=uuids[0])
    for project_id in sorted(result.without_role):
        if (project_id, '') not in said:
            LOG.warning('The service has no role in project %s: the servers '
                        'there are left alone.', project_id)
    said |= {*(('', text) for text in result.problems.values()),
             *((project_id, '') for project_id in result.without_role)}


def _problems(result: sweep.SweepResult) -> dict[str, list[str]]:
    """Return the servers of each problem."""
    found: dict[str, list[str]] = {}
    for uuid, problem in result.problems.items():
        found.setdefault(problem, []).append(uuid)
    return found


def _counted(text: str, uuids: list[str]) -> str:
    return text if len(uuids) == 1 else (
        f'{text} The same is true of {len(uuids) - 1} more.')


def _say_outage(said: set[str], state: tenacity.RetryCallState) -> None:
    error = state.outcome and state.outcome.exception()
    if not isinstance(error, Exception):
        return
    kind = _kind(error)
    if kind in said:
        return
    said.add(kind)
    if isinstance(error, _OUTAGES):
        LOG.warning('Nothing is rebuilt until this answers again: %s',
                    exceptions.text(error))
    else:
        LOG.error('A sweep has failed. It is tried again.', exc_info=error)


def _kind(error: Exception) -> str:
    """Return what is the same as long as one thing is away.

    What an error says may name its request, or an address in memory.
    """
    about = str(error) if isinstance(error, rebuilds.WrongOptions) else (
        error.about if isinstance(error, exceptions.NoApi) else '')
    return f'{type(error).__name__} {about}'
