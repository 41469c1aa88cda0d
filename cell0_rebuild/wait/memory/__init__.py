# SPDX-License-Identifier: Apache-2.0

"""What the service remembers. All of it is optional."""
