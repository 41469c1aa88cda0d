# SPDX-License-Identifier: Apache-2.0

"""Extension ``objects``: the RequestSpec that keeps what a burial would lose.

Nova looks classes up by name in its object registry, so the subclass is
registered there under Nova's name and version. It is the one class that is
replaced; everything else is a patched attribute.
"""

from __future__ import annotations

import typing as ty

from cell0_rebuild import nova_internals


class Registration:
    """Nova's RequestSpec replaced by ours in the registry."""

    module = 'nova.objects.request_spec'

    def __init__(self) -> None:
        self._original: ty.Any = None

    def __str__(self) -> str:
        return f'{self.module}:RequestSpec (registered class)'

    def problem(self) -> str | None:
        for target in nova_internals.REQUEST_SPEC:
            if (problem := target.problem()) is not None:
                return problem
        return None

    def apply(self) -> None:
        import nova.objects
        from nova.objects import base

        from cell0_rebuild import objects
        registered = base.NovaObjectRegistry.obj_classes()['RequestSpec']
        if objects.RequestSpec not in registered:
            self._original = nova.objects.RequestSpec
            base.NovaObjectRegistry.register(objects.RequestSpec)

    def undo(self) -> None:
        if self._original is None:
            return
        import nova.objects
        from nova.objects import base

        from cell0_rebuild import objects
        registered = base.NovaObjectRegistry.obj_classes()['RequestSpec']
        for index, registered_class in enumerate(registered):
            if registered_class is objects.RequestSpec:
                registered[index] = self._original
        nova.objects.RequestSpec = self._original
        self._original = None


PATCHES = (Registration(),)
