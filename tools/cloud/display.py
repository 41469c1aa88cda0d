# SPDX-License-Identifier: Apache-2.0

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
