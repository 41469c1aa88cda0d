# SPDX-License-Identifier: Apache-2.0

import hypothesis

# The same examples in each run, and no failure because a machine is slow.
hypothesis.settings.register_profile(
    'laws', deadline=None, derandomize=True, database=None)
hypothesis.settings.load_profile('laws')
