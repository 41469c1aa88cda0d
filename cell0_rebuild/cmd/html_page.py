# SPDX-License-Identifier: Apache-2.0

"""One page of HTML with the servers that wait. It loads nothing else."""

from __future__ import annotations

import collections
import collections.abc
import html
import typing as ty

import prettytable

_PAGE = """\
<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8"/>
<meta name="viewport" content="width=device-width"/>
<title>Servers that wait</title>
<style>
body {{ font: 15px/1.4 sans-serif; margin: 2em; color: #222 }}
table {{ border-collapse: collapse; margin-top: 1em }}
th {{ text-align: left; border-bottom: 2px solid #888; white-space: nowrap }}
td {{ border-bottom: 1px solid #ddd; vertical-align: top }}
th, td {{ padding: 0.3em 0.8em 0.3em 0 }}
td:nth-child(2), td:nth-child(3) {{ font-family: monospace }}
</style>
</head>
<body>
<h1>Servers that wait</h1>
<p>{summary}. As of {now}.</p>
{table}
</body>
</html>"""


def page(
    columns: collections.abc.Sequence[str],
    rows: collections.abc.Sequence[list[ty.Any]],
    codes: collections.abc.Iterable[str], now: str,
) -> str:
    """Return the page.

    :param columns: the heads of the table.
    :param rows: the cells; their text is escaped.
    :param codes: of the reasons, one of each server.
    :param now: when that was so.
    """
    counts = collections.Counter(codes)
    summary = ', '.join([
        *(f'{code}: {count}' for code, count in counts.most_common()),
        f'in all: {sum(counts.values())}'])
    table = prettytable.PrettyTable(columns)
    table.add_rows(rows)
    return _PAGE.format(
        summary=html.escape(summary), now=html.escape(now),
        table=table.get_html_string())
