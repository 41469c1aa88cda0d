# SPDX-License-Identifier: Apache-2.0

"""The configuration files of the services."""
