# SPDX-License-Identifier: Apache-2.0

import gc

# A Nova in one process has more than a million objects: to look at all of
# them as often as Python does by itself takes a fifth of the time of a test.
gc.set_threshold(50_000, 10, 5)
