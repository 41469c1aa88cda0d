# SPDX-License-Identifier: Apache-2.0

"""Servers that are buried in cell0 and wait for a host.

nova-api imports nothing of it, nova-conductor only what tells who asked to
wait.
"""
