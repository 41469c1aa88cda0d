# SPDX-License-Identifier: Apache-2.0

"""Servers that failed on a compute, and can be buried: they never ran."""
