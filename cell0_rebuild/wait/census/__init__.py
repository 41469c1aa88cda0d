# SPDX-License-Identifier: Apache-2.0

"""Who waits, what was asked of them, and how their builds have ended."""
