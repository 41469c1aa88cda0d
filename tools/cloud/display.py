# SPDX-License-Identifier: Apache-2.0

"""Show what is being done and what has been done."""

import contextlib
import time

from rich import console
from rich import progress

OUT = console.Console(soft_wrap=True, highlight=False)


class Display(progress.Progress):
    """Steps, several at a time, each with its time."""

    def __init__(self, out=OUT):
        """:param out: the console that is written to."""
        super().__init__(
            progress.SpinnerColumn(), '{task.description}',
            progress.TimeElapsedColumn(), console=out, transient=True)

    @contextlib.contextmanager
    def step(self, what):
        """Show a step as long as it takes, and then how long it took."""
        task = self.add_task(what, total=None)
        began = time.monotonic()
        mark = '[red]failed[/]'
        try:
            yield
            mark = '[green]done[/]'
        finally:
            self.remove_task(task)
            seconds = time.monotonic() - began
            self.console.print(f'{mark}  {what}  {seconds:.1f} s')
