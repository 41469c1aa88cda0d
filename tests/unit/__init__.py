# SPDX-License-Identifier: Apache-2.0

# Nova's unit tests decide here, before anything else is imported, whether
# they run under eventlet or with threads.
import nova.tests.unit  # noqa: F401
