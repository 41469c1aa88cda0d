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
body {{ font: 14px/1.4 sans-serif; margin: 1.5em; color: #222 }}
table {{ border-collapse: separate; border-spacing: 0; margin-top: 1em }}
th {{ position: sticky; top: 0; background: #fff; text-align: left }}
th {{ border-bottom: 2px solid #888; white-space: nowrap }}
td {{ border-bottom: 1px solid #ddd; vertical-align: top; min-width: 5em }}
th, td {{ padding: 0.3em 0.8em 0.3em 0 }}
td:nth-child(2), td:nth-child(3) {{ font: 12px/1.6 monospace }}
td:nth-child(n+2):nth-child(-n+5) {{ white-space: nowrap }}
td:last-child, span {{ white-space: nowrap }}
td:nth-child(7) {{ min-width: 12em }}
</style>
</head>
<body>
<h1>Servers that wait</h1>
<p>{summary}. <span>As of {now}.</span></p>
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
        f'In all: {sum(counts.values())}',
        *(f'{code}: {count}' for code, count in counts.most_common())])
    table = prettytable.PrettyTable(columns)
    table.add_rows(rows)
    return _PAGE.format(
        summary=html.escape(summary), now=html.escape(now),
        table=table.get_html_string(xhtml=True))
