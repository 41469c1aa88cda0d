# SPDX-License-Identifier: Apache-2.0

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
        'project_domain_id': 'default'}


def authtoken(plan, user):
    """Return how a service checks the tokens of its clients."""
    return {
        **credentials(plan, user),
        'www_authenticate_uri': plan.url('keystone'),
        'memcached_servers': plan.memcached,
        'service_token_roles': 'service',
        'service_token_roles_required': 'true'}


def state(plan, name):
    """Return the folder that a service keeps its files in."""
    path = plan.folder / 'state' / name
    path.mkdir(parents=True, exist_ok=True)
    return str(path)


def locks(plan, name):
    """Return where a service keeps its locks."""
    return {'lock_path': state(plan, f'{name}/locks')}
