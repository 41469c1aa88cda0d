# SPDX-License-Identifier: Apache-2.0

"""Two stories of a rebuild, told on a whole Nova in one process."""
