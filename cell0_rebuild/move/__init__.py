# SPDX-License-Identifier: Apache-2.0

"""How a server moves between cell0, a build request and a real cell.

The front door, for all other packages:

* :mod:`attempt` and :mod:`reburial`, its steps; :mod:`guards` and
  :mod:`fence`, what is tied to them;
* :mod:`recovery` after a crash, and :mod:`remains` in a delete;
* :mod:`standing` and :mod:`lookup`, where a server is; :mod:`cells`;
* :mod:`copies`, :mod:`actions` and :mod:`allocations`, what goes with it.

All else here writes rows of a server that moves, for these.
"""
