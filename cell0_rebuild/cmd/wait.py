# SPDX-License-Identifier: Apache-2.0

"""``cell0-rebuild-wait``: rebuilds servers as soon as there is room.

Nova is imported only in :func:`main`: importing it must wait until Nova has
set up the concurrency of this process.
"""

from __future__ import annotations

import collections
import contextlib
import importlib.metadata
import sys
import traceback
import typing as ty

from oslo_config import cfg

from cell0_rebuild.cmd import logs
from cell0_rebuild import exceptions
from cell0_rebuild import nova_compat

if ty.TYPE_CHECKING:
    from cell0_rebuild.wait import known

# Nova can be wrong, too.
DONE, FAILED, WRONG_OPTION = 0, 1, 2

OPTS: list[cfg.Opt] = [
    cfg.BoolOpt(
        'once', default=False,
        help='Sweep once and end, as for a line of cron.'),
    cfg.BoolOpt(
        'dry-run', default=False,
        help='Sweep once, and only print what would be done.'),
]


def main() -> int:
    """Run the service, or one sweep, and return the exit code."""
    if '--version' in sys.argv[1:]:
        # Nova's parser would print that of Nova.
        print(importlib.metadata.version('cell0-rebuild'))
        return DONE
    nova_compat.set_up_concurrency()
    cfg.CONF.register_cli_opts(OPTS)
    try:
        problems = _configure(sys.argv)
        for problem in problems:
            print(problem, file=sys.stderr)
        if problems:
            return WRONG_OPTION
        if cfg.CONF.once or cfg.CONF.dry_run:
            return _once(cfg.CONF.dry_run)
        return _serve()
    except exceptions.PatchMismatch as error:
        # Another start would end likewise.
        print(f'cell0-rebuild-wait cannot run with this Nova: {error}.',
              file=sys.stderr)
        return WRONG_OPTION
    except Exception:
        traceback.print_exc()
        return FAILED


def _configure(argv: list[str]) -> list[str]:
    """Read the options; return what is wrong with them."""
    from nova import config
    from nova import objects
    from oslo_log import log

    from cell0_rebuild import activation
    from cell0_rebuild.cmd import noop_messaging
    from cell0_rebuild import conf
    from cell0_rebuild import nova_internals
    from cell0_rebuild import patching
    from cell0_rebuild.wait.effects import rebuilds
    from cell0_rebuild.wait import options
    config.parse_args(argv, init_rpc=False)
    noop_messaging.set_up()
    if cfg.CONF.dry_run:
        logs.set_up(argv)
    else:
        log.setup(cfg.CONF, 'nova')
    objects.register_all()
    conf.register(cfg.CONF)
    options.register(cfg.CONF)
    options.limit_times(cfg.CONF)
    problems = [*conf.problems(cfg.CONF), *options.problems(cfg.CONF)]
    if problems:
        return problems
    try:
        rebuilds.RebuildClient(cfg.CONF)
    except rebuilds.WrongOptions as error:
        return [str(error)]
    activation.check_nova(cfg.CONF)
    activation.load(('objects',)).install()
    patching.PatchSet(patching.Reliance(target) for target in (
        *nova_internals.MOVES, *nova_internals.DEMANDS,
        *nova_internals.PROBES, *nova_internals.SHARES,
        *nova_internals.WAITING)).check()
    return []


def _serve() -> int:
    from oslo_service import service as launcher

    from cell0_rebuild.wait.effects import rebuilds
    from cell0_rebuild.wait import factory
    from cell0_rebuild.wait import service
    waiting = service.WaitingService(factory.sweeper)
    try:
        waiting.check_backend()
        waiting.check_metrics()
    except rebuilds.WrongOptions as error:
        print(error, file=sys.stderr)
        return WRONG_OPTION
    launched = launcher.launch(cfg.CONF, waiting, restart_method='mutate')
    # Under eventlet it would read all options at a SIGHUP, to log them, and
    # end where one is wrong.
    with contextlib.suppress(cfg.NoSuchOptError):
        cfg.CONF.set_override('log_options', False)
    launched.wait()
    return DONE


def _once(dry_run: bool) -> int:
    from cell0_rebuild.wait.census import outages
    from cell0_rebuild.wait import factory
    from cell0_rebuild.wait import known
    from cell0_rebuild.wait import service
    result = known.SweepResult()
    try:
        factory.sweeper(dry_run, once=True).sweep(result)
    except (exceptions.NoApi, *outages.ALL) as error:
        print(f'This does not answer: {exceptions.text(error)}',
              file=sys.stderr)
        return FAILED
    finally:
        if not dry_run:
            service.log_result(result, service.Logged())
    if dry_run:
        _show(result)
    return DONE


def _show(result: known.SweepResult) -> None:
    for uuid in result.answers:
        print(f'{uuid} would be rebuilt.')
    counts = collections.Counter(
        reason.code.value for reason in result.reasons.values())
    for code, count in sorted(counts.items()):
        print(f'{count} wait: {code}')
    for problem, count in sorted(
            collections.Counter(result.problems.values()).items()):
        print(f'{count} with a problem: {problem}')


if __name__ == '__main__':
    sys.exit(main())
