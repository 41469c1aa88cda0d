# SPDX-License-Identifier: Apache-2.0

"""Sweeps again and again, until a signal ends it.

If another service or a database does not answer, this is logged once, and the
sweep is tried again after a while. It does not end the process.
"""

from __future__ import annotations

import dataclasses
import math
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
from cell0_rebuild.wait.census import outages
from cell0_rebuild.wait.decision import pacing
from cell0_rebuild.wait.effects import rebuilds
from cell0_rebuild.wait import factory
from cell0_rebuild.wait import known
from cell0_rebuild.wait import leader
from cell0_rebuild.wait import options
from cell0_rebuild.wait import sweep
from cell0_rebuild.wait import values

if ty.TYPE_CHECKING:
    from cell0_rebuild.wait import metrics

LOG = logging.getLogger(__name__)

# Seconds between two tries while something does not answer.
_WAIT = tenacity.wait_exponential(min=2, max=60)

# Seconds until a service that stands by tries to lead again.
_STANDBY = 5

# Seconds of a rest at a time: under eventlet, oslo.service hears a signal only
# when a thread wakes up.
_STEP = 1.0

# Servers come back as long as one was sent or has landed in so many seconds.
_MOVING = 5

# Any other error is a mistake in this package, or in Nova.
_OUTAGES = (exceptions.NoApi, rebuilds.WrongOptions, tooz.ToozError,
            db_exc.DBError, *outages.ALL)


class WaitingService(service.ServiceBase):  # type: ignore[misc]
    """Runs sweeps in a thread."""

    def __init__(self, make: ty.Callable[[], sweep.Sweeper]) -> None:
        """:param make: makes the sweeper; called before the first sweep of a
            time in which this service leads.
        """
        super().__init__()
        self._make = make
        self._sweeper: sweep.Sweeper | None = None
        self._stopped, self._ended = threading.Event(), threading.Event()
        self._ended.set()
        self._moved_at = -math.inf
        self._logged = Logged()
        self._metrics: metrics.Metrics | None = None

    def check_backend(self) -> None:
        """Check that tooz has a driver for ``backend_url``; connect nowhere.

        :raises WrongOptions: if it cannot.
        """
        section = options.GROUP.name
        try:
            leader.Leader(cfg.CONF[section].backend_url).check()
        except ValueError as error:
            raise rebuilds.WrongOptions(
                f'[{section}] backend_url: {error}') from error

    def check_metrics(self) -> None:
        """Check that metrics can be served, if the options say so.

        :raises WrongOptions: if it cannot.
        """
        section = options.GROUP.name
        address = cfg.CONF[section].metrics
        if address is None:
            return
        try:
            # prometheus_client need not be installed without metrics.
            from cell0_rebuild.wait import metrics
            metrics.check(address)
        except (ImportError, OSError) as error:
            raise rebuilds.WrongOptions(
                f'[{section}] metrics cannot be served: {error}') from error
        self._metrics = metrics.Metrics()

    def start(self) -> None:
        """Start the thread, in the process that sweeps.

        oslo.service may have forked this process.
        """
        self._stopped.clear()
        self._ended.clear()
        if self._metrics is not None:
            self._serve(self._metrics)
        threading.Thread(target=self._run, name='sweeps').start()

    def stop(self, graceful: bool = False) -> None:
        """Stop after the sweep in progress, and wait for its end.

        oslo.service ends the process when this returns.
        """
        self._stopped.set()
        self.wait()

    def wait(self) -> None:
        """Wait for the end of the thread.

        A signal under eventlet raises an error here. A thread whose join is
        broken off takes itself for ended.
        """
        self._ended.wait()

    def reset(self) -> None:
        """Log again what was logged once.

        There are no options to read here: each sweep reads them.
        """
        self._logged = Logged()

    def _serve(self, figures: metrics.Metrics) -> None:
        try:
            figures.serve(cfg.CONF[options.GROUP.name].metrics)
        except OSError as error:
            LOG.warning('Metrics cannot be served: %s', error)

    def _run(self) -> None:
        try:
            self._sweep_until_stopped()
        finally:
            self._ended.set()

    def _sweep_until_stopped(self) -> None:
        LOG.info('Waiting for capacity in the name of servers in cell0.')
        lead = leader.Leader(cfg.CONF[options.GROUP.name].backend_url)
        while not self._stopped.is_set():
            retrying = tenacity.Retrying(
                wait=_WAIT, sleep=self._rest,
                stop=tenacity.stop_when_event_set(self._stopped),
                before_sleep=_outage_log(), reraise=True)
            try:
                pause = retrying(self._sweep_if_leading, lead)
            except Exception:
                if self._stopped.is_set():
                    break  # The last try failed.
                LOG.exception('The outage could not be told.')
                pause = pacing.LONGEST
            else:
                if retrying.statistics.get('attempt_number', 1) > 1:
                    LOG.info('What did not answer does so again.')
            self._rest(pause)
        lead.end()
        LOG.info('Stopped.')

    def _rest(self, seconds: float) -> None:
        """Rest for so many seconds, or until the service is stopped."""
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            if self._stopped.wait(min(left, _STEP)):
                return

    def _sweep_if_leading(self, lead: leader.Leader) -> float:
        """Sweep once, if this service leads; return how long to rest."""
        if not lead.leads():
            # What it remembers is not true when it leads again.
            self._sweeper = None
            if self._metrics is not None:
                self._metrics.show(known.SweepResult())
            return _STANDBY
        factory.check()
        sweeper = self._sweeper
        if sweeper is None:
            sweeper = self._sweeper = self._make()
        started, result = time.monotonic(), known.SweepResult()
        try:
            sweeper.sweep(result, self._stopped.is_set)
            # They are logged if they return.
            self._logged.problems &= {*result.problems.values()}
        finally:
            log_result(result, self._logged)
            if self._metrics is not None:
                self._metrics.count(result)
        took = time.monotonic() - started
        if self._metrics is not None:
            self._metrics.note(result, took)
        return self._pause(result, took - result.request_seconds)

    def _pause(self, result: known.SweepResult, own_seconds: float) -> float:
        """Return how long to rest after a sweep.

        :param own_seconds: see :func:`pacing.pause`.
        """
        now = time.monotonic()
        if result.has_moved():
            self._moved_at = now
        moving = now - self._moved_at < _MOVING
        return pacing.pause(
            pacing.interval(result.asks_in, moving, result.has_room),
            own_seconds, moving)


@dataclasses.dataclass
class Logged:
    """What was logged, and is not logged again.

    :ivar problems: the sentences about servers.
    :ivar projects: in which the service has no role; it is logged once, also
        after their rests.
    """

    problems: set[str] = dataclasses.field(default_factory=set)
    projects: set[str] = dataclasses.field(default_factory=set)


def log_result(result: known.SweepResult, logged: Logged) -> None:
    """Log what a sweep did.

    :param logged: before; this adds what it logs.
    """
    for uuid, answer in result.answers.items():
        LOG.info('Rebuild %s.', f'{answer.outcome.value}: {answer.text}'
                 if answer.text else answer.outcome.value, instance_uuid=uuid)
    for uuid, ended in result.ended.items():
        LOG.info('The server is %s.', 'ACTIVE'
                 if ended.state is values.State.LANDED else ended.state.value,
                 instance_uuid=uuid)
    for text, uuids in _problems(result).items():
        if text not in logged.problems:
            LOG.warning('%s', _counted(text, uuids), instance_uuid=uuids[0])
    for project_id in sorted(result.without_role - logged.projects):
        LOG.warning('The service has no role in project %s: the servers '
                    'there are left alone.', project_id)
    logged.problems.update(result.problems.values())
    logged.projects |= result.without_role


def _problems(result: known.SweepResult) -> dict[str, list[str]]:
    """Return the servers of each problem."""
    uuids: dict[str, list[str]] = {}
    for uuid, problem in result.problems.items():
        uuids.setdefault(problem, []).append(uuid)
    return uuids


def _counted(text: str, uuids: list[str]) -> str:
    return text if len(uuids) == 1 else (
        f'{text} The same is true of {len(uuids) - 1} more.')


def _outage_log() -> ty.Callable[[tenacity.RetryCallState], None]:
    """Return a function that logs each kind of error once."""
    logged = set[str]()

    # Tenacity 6 calls by the name of the argument.
    def log(retry_state: tenacity.RetryCallState) -> None:
        outcome = retry_state.outcome
        error = outcome and outcome.exception()
        if isinstance(error, Exception) and _kind(error) not in logged:
            logged.add(_kind(error))
            _log_outage(error)
    return log


def _log_outage(error: Exception) -> None:
    if isinstance(error, _OUTAGES):
        LOG.warning('Nothing is rebuilt until this answers again: %s',
                    exceptions.text(error))
    else:
        LOG.error('A sweep has failed. It is tried again.', exc_info=error)


def _kind(error: Exception) -> str:
    """Return a text that stays the same during one outage.

    The text of an error may differ each time: it can have the ID of a request
    or an address in memory.
    """
    about = str(error) if isinstance(error, rebuilds.WrongOptions) else (
        error.about if isinstance(error, exceptions.NoApi) else '')
    return f'{type(error).__name__} {about}'
