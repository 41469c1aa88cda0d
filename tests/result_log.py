# SPDX-License-Identifier: Apache-2.0

"""Logs of results: a JSON object a line.

A test writes them and goes on where an earlier run was stopped; a tool reads
them.
"""

import json


def lines(path):
    """Return what is written so far, but for a line that was cut."""
    if not path.exists():
        return []
    text = path.read_text(encoding='utf-8')
    return [json.loads(line) for line in text.splitlines(keepends=True)
            if line.endswith('\n')]


def write(path, **line):
    """Write a line."""
    with open(path, 'a', encoding='utf-8') as log:
        log.write(json.dumps(line) + '\n')
