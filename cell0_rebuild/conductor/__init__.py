# SPDX-License-Identifier: Apache-2.0

"""What nova-conductor does to bury and to rebuild a server."""
