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

"""Show what is being done and what has been done."""

import contextlib
import time

from rich import console
from rich import progress

OUT = console.Console(soft_wrap=True, highlight=False)


class Display:
    """Steps, several at a time, each with its time.

    To be used as a context manager.
    """

    def __init__(self, out=OUT):
        """:param out: the console that is written to."""
        self._out = out
        self._progress = progress.Progress(
            progress.SpinnerColumn(), '{task.description}',
            progress.TimeElapsedColumn(), console=out, transient=True)

    def __enter__(self):
        self._progress.start()
        return self

    def __exit__(self, *error):
        self._progress.stop()

    @contextlib.contextmanager
    def step(self, what):
        """Show a step as long as it takes, and then how long it took."""
        task = self._progress.add_task(what, total=None)
        began = time.monotonic()
        mark = '[red]failed[/]'
        try:
            yield
            mark = '[green]done[/]'
        finally:
            self._progress.remove_task(task)
            seconds = time.monotonic() - began
            self._out.print(f'{mark}  {what}  {seconds:.1f} s')
