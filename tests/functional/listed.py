#    Licensed under the Apache License, Version 2.0 (the "License"); you may
#    not use this file except in compliance with the License. You may obtain
#    a copy of the License at
#
#         http://www.apache.org/licenses/LICENSE-2.0
#
#    Unless required by applicable law or agreed to in writing, software
#    distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
#    WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
#    License for the specific language governing permissions and limitations
#    under the License.

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
