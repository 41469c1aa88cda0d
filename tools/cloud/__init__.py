#    Licensed under the Apache License, Version 2.0 (the "License"); you may
#    not use this file except in compliance with the License. You may obtain
#    a copy of the License at
#
#         http://www.apache.org/licenses/LICENSE-2.0
#
#    Unless required by applicable law or agreed to in writing, software
#    distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
#    WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
#    License for the specific language governing permissions and limitations
#    under the License.

"""A small real cloud of OpenStack services on the loopback.

Run it with ``python -m tools.cloud`` from the top of the checkout, in the
environment that ``make cloud`` builds.
"""

import os

# What is shared with the tests imports Nova as these do, which would patch
# this process for eventlet. No service inherits it.
os.environ.setdefault('OS_NOVA_DISABLE_EVENTLET_PATCHING', '1')
