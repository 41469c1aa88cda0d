# SPDX-License-Identifier: Apache-2.0

"""A small real cloud of OpenStack services on the loopback.

Run it with ``python -m tools.cloud`` from the top of the checkout, in the
environment that ``make cloud`` builds.
"""

import os

# What is shared with the tests imports Nova as these do, which would patch
# this process for eventlet. No service inherits it.
os.environ.setdefault('OS_NOVA_DISABLE_EVENTLET_PATCHING', '1')
