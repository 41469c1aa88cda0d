# SPDX-License-Identifier: Apache-2.0

"""What the service changes: rebuilds it requests, and what owners read."""
