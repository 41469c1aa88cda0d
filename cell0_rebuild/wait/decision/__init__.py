# SPDX-License-Identifier: Apache-2.0

"""What is done next. Nothing here reads, writes or asks."""
