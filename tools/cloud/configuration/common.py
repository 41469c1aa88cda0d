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

"""Options that several services share."""

from tests.integration import processes
from tools.cloud import plan as plans

ETC = processes.BIN.parent / 'etc'


def credentials(plan, user):
    """Return how a service authenticates itself to others."""
    return {
        'auth_type': 'password', 'auth_url': plan.url('keystone'),
        'username': user, 'password': plans.PASSWORD,
        'user_domain_id': 'default', 'project_name': 'service',
        'project_domain_id': 'default',
    }


def authtoken(plan, user):
    """Return how a service checks the tokens of its clients."""
    return {
        **credentials(plan, user),
        'www_authenticate_uri': plan.url('keystone'),
        'memcached_servers': plan.memcached,
        'service_token_roles': 'service',
        'service_token_roles_required': 'true',
    }


def state(plan, name):
    """Return the folder that a service keeps its files in."""
    path = plan.folder / 'state' / name
    path.mkdir(parents=True, exist_ok=True)
    return str(path)


def locks(plan, name):
    """Return where a service keeps its locks."""
    return {'lock_path': state(plan, f'{name}/locks')}
