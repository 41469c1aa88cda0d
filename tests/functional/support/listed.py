# SPDX-License-Identifier: Apache-2.0

"""Tables of the documentation that are made from the code."""

import textwrap


def table(widths, titles, rows):
    """Return a list-table.

    :param widths: of its columns, as the directive has them.
    :param rows: the texts of the cells.
    """
    lines = ['.. list-table::', '   :header-rows: 1', f'   :widths: {widths}',
             '']
    for cells in (titles, *rows):
        for number, cell in enumerate(cells):
            marker = '  - ' if number else '* - '
            lines += textwrap.wrap(
                marker + cell, 79, initial_indent='   ',
                subsequent_indent='       ', break_on_hyphens=False,
                drop_whitespace=True) if cell else ['   ' + marker.rstrip()]
    return '\n'.join(lines)
