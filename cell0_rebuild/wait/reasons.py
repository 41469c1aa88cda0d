# SPDX-License-Identifier: Apache-2.0

"""Why a server finds no host, in words for its owner.

No text names a host or another project.
"""

from __future__ import annotations

import dataclasses
import enum


class Code(enum.Enum):
    """What keeps a server from finding a host."""

    CAPACITY = 'capacity'
    BLOCKED = 'blocked'


@dataclasses.dataclass(frozen=True)
class Reason:
    """Why a server waits.

    :param code: two reasons with the same code are the same to its owner.
    :param text: a sentence, or None for the usual one of the code.
    """

    code: Code
    text: str | None = None

    def __str__(self) -> str:
        return self.text or _USUAL[self.code]


_USUAL = {
    Code.CAPACITY: 'No host has room for the server.',
    Code.BLOCKED: 'The rebuild is refused.',
}
