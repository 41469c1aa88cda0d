# SPDX-License-Identifier: Apache-2.0

"""How a server moves between cell0, a build request and a real cell."""
