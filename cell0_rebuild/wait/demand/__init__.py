# SPDX-License-Identifier: Apache-2.0

"""What servers that wait ask for, and what Placement has of it."""
