# SPDX-License-Identifier: Apache-2.0

"""The one way in: an oslo.config driver that applies the extensions.

``[DEFAULT] config_source = cell0_rebuild`` makes oslo.config load
:class:`Driver` in every Nova service while it parses its configuration,
before it serves. The driver contributes no option values.

Nothing of Nova, eventlet or urllib3 may be imported at the top of this
module: oslo.config loads it in a process that has not been monkey patched
yet (Nova 34 parses its configuration once before that).
"""

from __future__ import annotations

import functools
import importlib.metadata
import os
import sys
import traceback
import typing as ty

from oslo_config import cfg
from oslo_config import sources

if ty.TYPE_CHECKING:
    from cell0_rebuild import patching

NAMESPACE = 'cell0_rebuild.extensions'

# The releases of Nova that the test suite runs against. Development versions
# and release candidates of them are in the range.
TESTED_NOVA = '>=26.0.0.0rc1,<35'

_NOT_THIS_EARLY = frozenset((
    'castellan', 'keystoneauth1', 'oslo_context', 'requests', 'urllib3'))

# What a web server loads to serve an API: the second, of the script
# nova-api-wsgi or nova-metadata-wsgi, in 26 to 32.
_API_MODULES = frozenset((
    'nova.wsgi.osapi_compute', 'nova.api.openstack.compute.wsgi'))
_METADATA_MODULES = frozenset((
    'nova.wsgi.metadata', 'nova.api.metadata.wsgi'))

# What is patched in which service. Services that are not named need nothing
# from us and are left alone: we can never stop a compute from starting.
EXTENSIONS = {
    'nova-api': ('objects', 'api'),
    'nova-conductor': ('objects', 'conductor'),
    'nova-manage': ('objects',),
}

_installed: patching.PatchSet | None = None


class Driver(sources.ConfigurationSourceDriver):
    """Applies the extensions to the service that is being configured."""

    def open_source_from_opt_group(
        self, conf: cfg.ConfigOpts, group_name: str
    ) -> None:
        """Patch this process if it is a service that needs it.

        :raises SystemExit: if this Nova cannot be patched and the service
            must not run unpatched. oslo.config swallows any other exception.
        """
        if conf is cfg.CONF:
            activate(conf)
        else:
            forget_early_imports()

    def list_options_for_discovery(self) -> list[ty.Any]:
        """Return no options of the driver itself."""
        return []


def forget_early_imports() -> None:
    """Unload the modules that must not be imported this early.

    Nova 34 parses its configuration once into a throw-away ConfigOpts. It
    does so before it is monkey patched for eventlet. oslo.config then loads
    all drivers that are installed, and not only ours. The drivers of
    oslo.config and castellan import modules that break if they are imported
    before the patching (``nova.monkey_patch`` names them): HTTPS requests end
    in a RecursionError, and a green thread sees the request of another one.
    """
    if 'nova.monkey_patch' not in sys.modules or 'nova.conf' in sys.modules:
        return  # somebody else's ConfigOpts
    for name in list(sys.modules):
        if name.partition('.')[0] in _NOT_THIS_EARLY or name == (
                'oslo_config.sources._uri'):
            del sys.modules[name]


def service_of(conf: cfg.ConfigOpts) -> str | None:
    """Return the name of the service that runs in this process, if known."""
    main = getattr(sys.modules.get('__main__'), '__spec__', None)
    names = {os.path.basename(sys.argv[0]), str(conf.prog),
             str(getattr(main, 'name', ''))}
    if _API_MODULES & set(sys.modules):
        return 'nova-api'
    if _METADATA_MODULES & set(sys.modules):
        return None
    if names & {'nova-api', 'nova-api-wsgi', 'nova-api-os-compute',
                'nova.cmd.api', 'nova.cmd.api_os_compute'}:
        return 'nova-api'
    if names & {'nova-conductor', 'nova.cmd.conductor'}:
        return 'nova-conductor'
    if names & {'nova-manage', 'nova.cmd.manage'}:
        return 'nova-manage'
    return None


def activate(conf: cfg.ConfigOpts) -> None:
    """Patch this process as its service needs it.

    :raises SystemExit: if nova-api or nova-conductor cannot be patched and
        ``[cell0_rebuild] on_mismatch`` says to refuse.
    """
    global _installed
    from cell0_rebuild import conf as options
    from cell0_rebuild import exceptions
    options.register(conf)
    service = service_of(conf)
    if service is None or _installed is not None:
        return

    try:
        if service != 'nova-manage':
            check_options(conf)
        check_nova(conf)
        if service == 'nova-api':
            check_microversion(conf)
        patches = load(EXTENSIONS[service])
        patches.install()
    except exceptions.PatchMismatch as error:
        _complain(conf, service, error)
    except Exception as error:
        # oslo.config would swallow it and start the service without us.
        traceback.print_exc()
        _complain(conf, service, error)
    else:
        _installed = patches
        _when_logging(functools.partial(_announce, service, patches))


def check_options(conf: cfg.ConfigOpts) -> None:
    """Check the option values.

    :raises PatchMismatch: if one is invalid.
    """
    from cell0_rebuild import conf as options
    from cell0_rebuild import exceptions
    if problems := options.problems(conf):
        raise exceptions.PatchMismatch(problems)


def check_nova(conf: cfg.ConfigOpts) -> None:
    """Check that this release of Nova was tested.

    :raises PatchMismatch: if it was not and the operator did not allow it.
    """
    from packaging import specifiers

    from cell0_rebuild import exceptions
    version = importlib.metadata.version('nova')
    tested = specifiers.SpecifierSet(TESTED_NOVA, prereleases=True)
    if version not in tested and not conf.cell0_rebuild.allow_untested_nova:
        raise exceptions.PatchMismatch([
            f'Nova {version} is outside the tested range {TESTED_NOVA}; set '
            f'[cell0_rebuild] allow_untested_nova to patch it all the same'])


def check_microversion(conf: cfg.ConfigOpts) -> None:
    """Check ``[cell0_rebuild] api_microversion``.

    :raises PatchMismatch: if this Nova does not have the microversion.
    """
    from cell0_rebuild.api import microversion_range
    from cell0_rebuild import exceptions
    wanted = conf.cell0_rebuild.api_microversion
    if wanted is not None and not microversion_range.is_stock(wanted):
        lowest, highest = microversion_range.stock_range()
        raise exceptions.PatchMismatch([
            f'[cell0_rebuild] api_microversion = {wanted} is not a '
            f'microversion of this Nova, which has {lowest} to {highest}; '
            f'leave the option unset to add one'])


def load(names: ty.Iterable[str]) -> patching.PatchSet:
    """Return the changes of the named extensions.

    :raises PatchMismatch: if an extension cannot be loaded.
    """
    import stevedore

    from cell0_rebuild import exceptions
    from cell0_rebuild import patching
    failed: list[str] = []

    def fail(manager: ty.Any, entry_point: ty.Any, error: Exception) -> None:
        failed.append(f'extension {entry_point.name} of the namespace '
                      f'{NAMESPACE} cannot be loaded: {error!r}')

    extensions = stevedore.NamedExtensionManager(
        NAMESPACE, list(names), name_order=True,
        on_load_failure_callback=fail,
        on_missing_entrypoints_callback=lambda missing: failed.append(
            f'no extension {", ".join(sorted(missing))} is in the namespace '
            f'{NAMESPACE}'))
    if failed:
        raise exceptions.PatchMismatch(failed)
    return patching.PatchSet(
        change for extension in extensions for change in extension.plugin)


def load_all() -> patching.PatchSet:
    """Return the changes of all extensions, and what the commands rest on.

    :raises PatchMismatch: if an extension cannot be loaded.
    """
    from cell0_rebuild import nova_internals
    from cell0_rebuild import patching
    extensions = load(sorted({
        name for names in EXTENSIONS.values() for name in names}))
    return patching.PatchSet([
        *extensions.changes, *map(patching.Reliance, (
            *nova_internals.RECOVERY, *nova_internals.FENCE,
            *nova_internals.PROBES, *nova_internals.SHARES,
            *nova_internals.WAITING, *nova_internals.COMMANDS))])


def _when_logging(say: ty.Callable[[], None]) -> None:
    # Nova sets up logging once it has parsed its configuration. Until then
    # nothing below a warning is logged.
    from oslo_log import log
    set_up = log.setup

    @functools.wraps(set_up)
    def setup(*args: ty.Any, **kwargs: ty.Any) -> None:
        log.setup = set_up
        set_up(*args, **kwargs)
        say()

    log.setup = setup


def _announce(service: str, patches: patching.PatchSet) -> None:
    from oslo_log import log
    log.getLogger(__name__).info(
        'cell0-rebuild %s is active in %s of Nova %s and has patched %s',
        importlib.metadata.version('cell0-rebuild'), service,
        importlib.metadata.version('nova'), ', '.join(patches.patched))


def _complain(conf: cfg.ConfigOpts, service: str, error: Exception) -> None:
    message = f'cell0-rebuild cannot patch {service}: {error}'
    if service == 'nova-manage':
        _warn(f'{message}; going on without it. RequestSpecs that this '
              f'command saves lose what a buried server needs to be rebuilt.')
    elif _runs_as_stock(conf):
        _warn(f'{message}; nothing is patched and {service} runs as Nova '
              f'without it, as [cell0_rebuild] on_mismatch says.')
    else:
        raise SystemExit(
            f'{message}. Nothing is patched. Mend that, or remove '
            f'config_source = cell0_rebuild from nova.conf, or set '
            f'[cell0_rebuild] on_mismatch = stock.')


def _runs_as_stock(conf: cfg.ConfigOpts) -> bool:
    try:
        return bool(conf.cell0_rebuild.on_mismatch == 'stock')
    except ValueError:
        return False  # it is what is wrong


def _warn(message: str) -> None:
    # Nova sets up logging only after its configuration is parsed, and a
    # warning that is printed reaches the journal of every deployment.
    print(f'WARNING: {message}', file=sys.stderr, flush=True)
