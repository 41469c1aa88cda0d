# SPDX-License-Identifier: Apache-2.0

"""What the package does about differences between releases of Nova.

A release is never asked for its number, but for what it has, because a fix
that is backported changes the one without the other. The releases are named
for people. What is only named or called otherwise is a form of its target in
:mod:`cell0_rebuild.nova_internals`.
"""

from __future__ import annotations

import collections
import inspect
import typing as ty

from oslo_config import cfg

if ty.TYPE_CHECKING:
    from nova import context as nova_context
    from nova import objects
    from oslo_limit import limit

USER = 'user'


def has_parameter(function: ty.Callable[..., ty.Any], name: str) -> bool:
    """Tell whether a function of Nova takes an argument by that name."""
    return name in inspect.signature(function).parameters


def set_up_concurrency() -> None:
    """Have this process, a command, run as Nova's own commands do.

    26 to 31 patch it for eventlet by the import, 32 where it is asked to, and
    33 and later let a command choose threads.
    """
    from nova import monkey_patch
    patch = getattr(monkey_patch, 'patch', None)
    if patch is None:
        return
    if has_parameter(patch, 'backend'):
        patch(backend='threading')
    else:
        patch()


def runs_with_threads() -> bool:
    """Tell whether this process runs with threads, not under eventlet.

    26 to 31 always are under eventlet.
    """
    from nova import utils
    threading = getattr(utils, 'concurrency_mode_threading', lambda: False)
    return bool(threading())


def with_oldest_compute(
    check: ty.Callable[..., None], version: int, *args: ty.Any
) -> None:
    """Call a check that depends on the oldest compute service.

    26 to 30 look its version up in the check, 31 and later are told.

    :param version: the lowest of a compute service.
    """
    if has_parameter(check, 'min_comp_ver'):
        check(*args, min_comp_ver=version)
    else:
        check(*args)


def enforce_unified_limits(
    context: nova_context.RequestContext, project_id: str,
    request_spec: objects.RequestSpec, claimed: collections.Counter[str],
) -> None:
    """Check the unified limits for a server that is counted already.

    34 counts all that a RequestSpec asks for, 26 to 33 what the flavor does;
    26 to 27.1 do not use the enforcer that they are given.

    :param claimed: how much of each resource class is counted, too.
    :raises TooManyInstances, ProjectOverLimit: if there is no more left.
    """
    from nova.limit import placement as limits
    enforcer = _RestEnforcer(
        limits._get_enforcer(context, project_id), claimed)
    if hasattr(limits, 'enforce_num_instances_and_resources'):
        limits.enforce_num_instances_and_resources(
            context, project_id, request_spec, 1, 1, enforcer=enforcer)
        return
    flavor, from_volume = request_spec.flavor, request_spec.is_bfv
    enforce = limits.enforce_num_instances_and_flavor
    if has_parameter(enforce, 'delta_updates'):
        enforce(context, project_id, flavor, from_volume, 1, 1,
                enforcer=enforcer)
        return
    enforcer.enforce(
        project_id, limits._get_deltas_by_flavor(flavor, from_volume, 1))


class _RestEnforcer:
    """Enforces the limits for what is not counted yet of one server."""

    def __init__(
        self, enforcer: limit.Enforcer, claimed: collections.Counter[str]
    ) -> None:
        self._enforcer = enforcer
        self._claimed = claimed

    def enforce(self, project_id: str, deltas: dict[str, int]) -> None:
        """Do what oslo.limit's does, which Nova calls."""
        counted = {'servers': 1, **{
            f'class:{name}': amount for name, amount
            in self._counted_as(deltas).items()}}
        self._enforcer.enforce(project_id, {
            name: max(0, delta - counted.get(name, 0))
            for name, delta in deltas.items()})

    def _counted_as(
        self, deltas: dict[str, int]
    ) -> collections.Counter[str]:
        """Return what is claimed as ``nova.limit.placement`` counts it."""
        if (not cfg.CONF.workarounds.unified_limits_count_pcpu_as_vcpu
                or 'class:PCPU' in deltas):
            return self._claimed
        return self._claimed + collections.Counter(
            {'VCPU': self._claimed['PCPU']})


def add_pci_request_groups(request_spec: objects.RequestSpec) -> None:
    """Add to a RequestSpec what its PCI requests ask Placement for.

    26 does not have PCI devices in Placement.
    """
    if hasattr(request_spec, 'generate_request_groups_from_pci_requests'):
        request_spec.generate_request_groups_from_pci_requests()


def tpm_secret_security(flavor: objects.Flavor) -> str:
    """Return who owns the secret of a virtual TPM.

    26 to 32 make every one with the user's token.
    """
    from nova.virt import hardware
    if not hasattr(hardware, 'get_tpm_secret_security_constraint'):
        return USER
    return str(hardware.get_tpm_secret_security_constraint(flavor))
