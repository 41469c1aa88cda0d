# SPDX-License-Identifier: Apache-2.0

"""What nova-api does to rebuild a buried server."""
