# SPDX-License-Identifier: Apache-2.0

"""How a server moves between cell0, a build request and a real cell.

Other packages use only these modules:

* :mod:`out_of_cell0`, :mod:`attempt` and :mod:`reburial` make the steps of a
  move;
* :mod:`into_cell0` buries a server that has failed in a real cell;
* :mod:`deletion` and :mod:`volume_flags` work in a delete, and
  :mod:`recovery` after a crash;
* :mod:`location` tells where a server is;
* :mod:`cell0_copy` makes what is built of what is in cell0.

The other modules write the rows for these.
"""
