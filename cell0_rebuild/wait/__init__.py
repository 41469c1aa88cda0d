# SPDX-License-Identifier: Apache-2.0

"""Why servers that are buried in cell0 find no host.

nova-api and nova-conductor never import it: it looks at the databases and at
Placement, and changes nothing.
"""
