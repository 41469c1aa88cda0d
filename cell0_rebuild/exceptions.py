# SPDX-License-Identifier: Apache-2.0

"""What can go wrong in the package itself, apart from Nova's exceptions."""

from __future__ import annotations


def text(error: Exception) -> str:
    """Return the kind of an error and what it says, for people to read."""
    return f'{type(error).__name__}: {error}'


class PatchMismatch(Exception):
    """Nova is not what the package was tested with; nothing was patched."""

    def __init__(self, problems: list[str]) -> None:
        """:param problems: a sentence per target that does not match."""
        self.problems = problems
        super().__init__('; '.join(problems))


class StaleAttempt(Exception):
    """A rebuild went on after its attempt had ended otherwise."""

    def __init__(self, instance_uuid: str, attempt: str) -> None:
        """:param attempt: that is no longer the current one."""
        super().__init__(
            f'rebuild attempt {attempt} of server {instance_uuid} is no '
            f'longer the current one')


class LostRace(Exception):
    """Another request changed the server first."""


class BurialNotEnded(LostRace):
    """Nova still has the build request of a server that is in cell0."""


class NoConductor(Exception):
    """No nova-conductor that can rebuild buried servers answered."""


class NoPlacement(Exception):
    """Placement does not answer, or refuses."""


class NoApi(Exception):
    """nova-api or Keystone does not answer, or Keystone takes no password."""

    def __init__(self, text: str, about: str = '') -> None:
        """:param about: the same for errors of one kind."""
        self.about = about
        super().__init__(text)


class DatabaseDown(Exception):
    """A database cannot be connected to; the text names it."""


class Unreadable(Exception):
    """What is stored of a server is of a newer version, or damaged."""

    def __init__(self, reason: str) -> None:
        """:param reason: for users, without anything that is stored."""
        self.reason = reason
        super().__init__(
            f'What is stored of the server cannot be read: {reason}.')
