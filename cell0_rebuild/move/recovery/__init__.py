# SPDX-License-Identifier: Apache-2.0

"""What ends the attempts of processes that have died."""
