# SPDX-License-Identifier: Apache-2.0

"""Rebuild Nova servers that were buried in cell0."""
