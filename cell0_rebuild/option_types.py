# SPDX-License-Identifier: Apache-2.0

"""Options whose values are checked at start, and what is wrong with them."""

from __future__ import annotations

import collections.abc

from oslo_config import cfg
from oslo_config import types


class Number(types.Integer):
    """A whole number whose errors name the value."""

    def __call__(self, value: object) -> int | None:
        """Return the number.

        :raises ValueError: if it is none, too small or too large.
        """
        try:
            number: int | None = super().__call__(value)
        except ValueError as error:
            raise ValueError(f'{value!r}: {error}') from error
        return number


def problems(
    conf: cfg.ConfigOpts, group: str, opts: collections.abc.Iterable[cfg.Opt]
) -> list[str]:
    """Return a sentence for each option with an invalid value.

    oslo.config checks a value when it is read. That would be in the middle of
    the work.
    """
    found = []
    for opt in opts:
        try:
            value = conf[group][opt.dest]
        except ValueError as error:
            found.append(f'[{group}] {opt.name}: {error}')
        else:
            if value == []:
                found.append(f'[{group}] {opt.name} is empty')
    return found
