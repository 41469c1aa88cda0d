# SPDX-License-Identifier: Apache-2.0

"""A cloud that is full, and what becomes of those who wait for room."""
