# SPDX-License-Identifier: Apache-2.0

"""What stands for hardware: hypervisors, switches and disks."""
