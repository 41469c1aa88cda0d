# SPDX-License-Identifier: Apache-2.0

import faulthandler
import gc
import os
import sys

# A Nova in one process has more than a million objects: to look at all of
# them as often as Python does by itself takes a fifth of the time of a test.
gc.set_threshold(50_000, 10, 5)

# Nova logs to standard output, where the results belong under stestr.
if 'stestr/subunit_runner' in sys.argv[0]:
    import testtools

    sys.stdout = sys.stderr
    # A test may hang where its time-out does not reach, as in its cleanup.
    # Then the worker says where, and ends, so that the test has failed.
    _LIMIT = 10 * int(os.environ.get('OS_TEST_TIMEOUT') or 180)

    def _run(case, *args, run=testtools.TestCase.run):
        if _LIMIT:
            faulthandler.dump_traceback_later(_LIMIT, exit=True)
        return run(case, *args)

    testtools.TestCase.run = _run
