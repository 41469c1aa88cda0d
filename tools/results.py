# SPDX-License-Identifier: Apache-2.0

"""What long runs have in common: they keep results, and run side by side."""

import concurrent.futures
import hashlib
import sys

from rich import progress

from tables import OUT
from tables import ROOT

sys.path.insert(0, str(ROOT))

from tests.result_log import lines  # noqa: E402, F401
from tests.result_log import write  # noqa: E402, F401


def stamp(sources):
    """Return what changes when the code in folders does."""
    found = hashlib.sha256()
    for source in sources:
        for path in sorted((ROOT / source).rglob('*.py')):
            found.update(path.read_bytes())
    return found.hexdigest()


def run_all(what, jobs, at_once):
    """Run functions side by side; return what those say that crashed."""
    with progress.Progress(console=OUT) as bar, \
            concurrent.futures.ThreadPoolExecutor(at_once) as executor:
        running = [executor.submit(job) for job in jobs]
        return [future.result() for future in bar.track(
            concurrent.futures.as_completed(running), total=len(running),
            description=what) if future.result()]
