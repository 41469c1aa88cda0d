# SPDX-License-Identifier: Apache-2.0

# Nova's functional tests decide here, before anything else is imported,
# whether they run under eventlet or with threads; those of 32 in nova.test.
import nova.tests.functional  # noqa: F401
import nova.test  # noqa: F401
