# SPDX-License-Identifier: Apache-2.0

"""``cell0-rebuild-status``: tells whether rebuilds from cell0 can work.

Nova is imported only when it is needed: importing it must wait until Nova has
set up the concurrency of this process.
"""

from __future__ import annotations

import datetime
import functools
import sys
import typing as ty

from oslo_config import cfg
from oslo_upgradecheck import upgradecheck

from cell0_rebuild import activation
from cell0_rebuild.cmd import manage
from cell0_rebuild import exceptions
from cell0_rebuild import nova_compat


def _warning_of_databases(
    check: ty.Callable[[Checks], upgradecheck.Result]
) -> ty.Callable[[Checks], upgradecheck.Result]:
    """Turn a database error into a warning of this check."""
    @functools.wraps(check)
    def run(checks: Checks) -> upgradecheck.Result:
        from oslo_db import exception as db_exc
        try:
            return check(checks)
        except db_exc.DBError as error:
            return _warning(
                f'A database cannot be asked: {exceptions.text(error)}')
    return run


class Checks(upgradecheck.UpgradeCommands):
    """What is checked."""

    def check_nova(self) -> upgradecheck.Result:
        """Tell whether this Nova is one that can be patched."""
        problems = []
        try:
            activation.check_nova(cfg.CONF)
        except exceptions.PatchMismatch as error:
            problems.append(str(error))
        try:
            activation.load_all().check()
        except exceptions.PatchMismatch as error:
            problems.append(str(error))
        return _failure('; '.join(problems)) if problems else _success()

    def check_enabled(self) -> upgradecheck.Result:
        """Tell whether nova.conf enables the package."""
        sources = cfg.CONF.config_source or ()
        if any(cfg.CONF[name].driver == 'cell0_rebuild' for name in sources):
            return _success()
        return _warning(
            'cell0-rebuild is not enabled in this nova.conf. Add '
            '"config_source = cell0_rebuild" to [DEFAULT] and "driver = '
            'cell0_rebuild" to [cell0_rebuild].')

    def check_options(self) -> upgradecheck.Result:
        """Check the option values."""
        try:
            activation.check_options(cfg.CONF)
        except exceptions.PatchMismatch as error:
            return _failure(str(error))
        return _success()

    def check_microversion(self) -> upgradecheck.Result:
        """Tell whether Nova has the microversion that is configured."""
        try:
            activation.check_microversion(cfg.CONF)
        except exceptions.PatchMismatch as error:
            return _failure(str(error))
        return _success()

    def check_conductors(self) -> upgradecheck.Result:
        """Tell whether a conductor with the package answers."""
        problem = _ping()
        if problem is None:
            return _success()
        return _warning(
            f'No nova-conductor with cell0-rebuild answers: {problem}. Until '
            f'one does, every rebuild from cell0 is refused.')

    @_warning_of_databases
    def check_stuck(self) -> upgradecheck.Result:
        """Tell whether a crash has left servers behind."""
        from oslo_utils import timeutils

        from cell0_rebuild.move.recovery import mend
        before = timeutils.utcnow() - datetime.timedelta(seconds=manage.AGE)
        run = mend.Recovery(before)
        found = list(run.run(dry_run=True))
        unknown = sum(result.problem is not None for result in found)
        problems = []
        if len(found) > unknown:
            problems.append(
                f'{len(found) - unknown} rebuilds from cell0 were '
                f'interrupted. Run "cell0-rebuild-manage recover".')
        if unknown:
            problems.append(f'{unknown} servers could not be looked at.')
        problems += run.warnings
        return _warning(' '.join(problems)) if problems else _success()

    @_warning_of_databases
    def check_unknown(self) -> upgradecheck.Result:
        """Count the servers that can never be rebuilt."""
        from nova import context

        from cell0_rebuild.move.recovery import search
        count = search.count_unknown(context.get_admin_context())
        return upgradecheck.Result(
            upgradecheck.Code.SUCCESS,
            f'{count} buried servers cannot be rebuilt: they were buried by '
            f'a nova-conductor without cell0-rebuild, and the networks that '
            f'their owners asked for are unknown.' if count else None)

    @_warning_of_databases
    def check_waiting(self) -> upgradecheck.Result:
        """Count the servers whose waiting is ended before a removal."""
        from nova import context

        from cell0_rebuild.wait.effects import operator_actions
        from cell0_rebuild.wait import options
        from cell0_rebuild.wait import wish_options
        options.register(cfg.CONF)
        if problems := options.problems(cfg.CONF):
            return _failure('; '.join(problems))
        waiting = operator_actions.all_waiting(
            context.get_admin_context(), wish_options.site(cfg.CONF))
        if not waiting:
            return _success()
        return _warning(
            f'{len(waiting)} servers wait for a host, '
            f'{sum(waiting.values())} of them '
            f'shown as BUILD. Before cell0-rebuild is removed, stop '
            f'cell0-rebuild-wait and run "cell0-rebuild-manage wait end '
            f'--all".')

    _upgrade_checks = (
        ('Nova can be patched', check_nova),
        ('cell0-rebuild is enabled', check_enabled),
        ('Options', check_options),
        ('API microversion', check_microversion),
        ('Conductors', check_conductors),
        ('Interrupted rebuilds', check_stuck),
        ('Servers buried without networks', check_unknown),
        ('Servers that wait', check_waiting),
    )


def _ping() -> str | None:
    """Return why no conductor answers, or None."""
    from nova import context

    from cell0_rebuild import rpcapi
    try:
        rpcapi.RebuildAPI().ping(context.get_admin_context())
    except (exceptions.NoConductor, cfg.ConfigFileValueError) as error:
        return str(error)
    return None


def _success() -> upgradecheck.Result:
    return upgradecheck.Result(upgradecheck.Code.SUCCESS)


def _warning(details: str) -> upgradecheck.Result:
    return upgradecheck.Result(upgradecheck.Code.WARNING, details)


def _failure(details: str) -> upgradecheck.Result:
    return upgradecheck.Result(upgradecheck.Code.FAILURE, details)


class Commands(Checks):
    """The checks of a process of their own."""

    def check(self) -> ty.Any:
        """Extend the base class's to set up what the checks need."""
        from nova.db.api import api as api_db_api
        from nova.db.main import api as main_db_api
        from nova import objects
        from nova import rpc

        from cell0_rebuild import conf as options
        options.register(cfg.CONF)
        rpc.init(cfg.CONF)
        main_db_api.configure(cfg.CONF)
        api_db_api.configure(cfg.CONF)
        objects.register_all()
        return super().check()


def main() -> int:
    """Parse the command line and run the checks."""
    nova_compat.set_up_concurrency()
    from nova import config
    import nova.conf  # noqa: F401  registers the options of Nova
    from oslo_log import log
    log.register_options(cfg.CONF)
    config.set_lib_defaults()
    return int(upgradecheck.main(
        cfg.CONF, 'nova', Commands(), argv=sys.argv[1:]))


if __name__ == '__main__':
    sys.exit(main())
