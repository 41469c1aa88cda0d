# SPDX-License-Identifier: Apache-2.0

"""Texts that Nova stores for people: faults, and messages of actions."""

from __future__ import annotations

import re

from nova import exception

# Bytes. Nova cuts the end of a longer fault, or of the details of an event; a
# database may refuse a longer message of an action.
LONGEST = 255

_LEFT_OUT = ' ... '

# An older column of MySQL refuses what takes more than three bytes, and every
# database the half of a pair.
_REFUSED = re.compile('[\ud800-\udfff\U00010000-\U0010ffff]')


def fitting(text: str) -> str:
    """Return a text that can be stored.

    What is too much is left out of its middle. What happened is said first,
    and what to do about it last. A character that a column may refuse is
    replaced.
    """
    text = _REFUSED.sub('\ufffd', text)
    encoded = text.encode()
    if len(encoded) <= LONGEST:
        return text
    half = (LONGEST - len(_LEFT_OUT)) // 2
    return _LEFT_OUT.join(
        part.decode(errors='ignore')
        for part in (encoded[:half], encoded[-half:]))


def fit(error: Exception) -> None:
    """Make the text of an error fitting that becomes a fault.

    Nova stores only the texts of its own kind of errors.
    """
    if isinstance(error, exception.NovaException):
        error.args = (fitting(error.format_message()), *error.args[1:])
