# SPDX-License-Identifier: Apache-2.0

import gc
import sys

# A Nova in one process has more than a million objects: to look at all of
# them as often as Python does by itself takes a fifth of the time of a test.
gc.set_threshold(50_000, 10, 5)

# Nova logs to standard output, where the results belong under stestr.
if 'stestr/subunit_runner' in sys.argv[0]:
    sys.stdout = sys.stderr
