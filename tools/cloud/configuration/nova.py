# SPDX-License-Identifier: Apache-2.0

"""The nova.conf of each service of Nova."""

from tests.integration import settings
from tools.cloud.configuration import common
from tools.cloud import hypervisor
from tools.cloud import plan as plans


def controller(plan, host):
    """Return the file of nova-api, its conductor and the scheduler.

    It alone has what the documentation of the package tells to add.
    """
    options = {
        **_common(plan, host, ''),
        **_databases(plan, 'nova_cell0'),
        'keystone_authtoken': common.authtoken(plan, 'nova'),
        'quota': {'instances': '-1', 'cores': '-1', 'ram': '-1'}}
    if plan.enabled:
        for section, values in settings.ENABLED.items():
            options[section] = {**options.get(section, {}), **values}
        if plan.api_microversion:
            options['cell0_rebuild']['api_microversion'] = (
                plan.api_microversion)
        options['cell0_rebuild']['rebuild'] = plan.rebuild
        if plan.show == 'build':
            options['cell0_rebuild']['vm_states'] = 'error,building'
            options['cell0_rebuild_wait'] = {'show': 'build'}
    return options


def waiting(plan):
    """Return the file of the waiting service, which has a user of its own."""
    options = controller(plan, 'waiting')
    options['cell0_rebuild_wait'] = {
        **options.get('cell0_rebuild_wait', {}),
        'auth_type': 'password', 'auth_url': plan.url('keystone'),
        'username': plans.WAITING, 'password': plans.PASSWORD,
        'user_domain_id': 'default',
        'metrics': f'127.0.0.1:{plan.ports["metrics"]}'}
    return options


def manage(plan):
    """Return the file of nova-manage."""
    return {**controller(plan, 'manage'), **_databases(plan, 'nova_cell1')}


def conductor(plan, cell):
    """Return the file of the nova-conductor of a cell."""
    return {**_common(plan, cell, cell),
            'database': {'connection': plan.database(f'nova_{cell}')}}


def compute(plan, host):
    """Return the file of a nova-compute, which has no database."""
    options = _common(plan, host, plan.computes[host])
    if host not in plan.guests:
        options['DEFAULT']['compute_driver'] = 'loopback.Driver'
        return options
    return {**options, **{
        section: {**options.get(section, {}), **values}
        for section, values in hypervisor.options(plan).items()}}


def _databases(plan, own):
    return {'database': {'connection': plan.database(own)},
            'api_database': {'connection': plan.database('nova_api')}}


def _common(plan, host, virtual_host):
    credentials = common.credentials(plan, 'nova')
    return {
        'DEFAULT': {
            'host': host, 'my_ip': '127.0.0.1',
            'transport_url': plan.broker(virtual_host),
            'state_path': common.state(plan, host),
            'concurrency_backend': 'threading',
            # A cell has one host at first.
            'allow_resize_to_same_host': 'true'},
        **dict.fromkeys(
            ('placement', 'neutron', 'glance', 'cinder'), credentials),
        'service_user': {**credentials, 'send_service_user_token': 'true'},
        'oslo_concurrency': common.locks(plan, host),
        'conductor': {'workers': '1'},
        'scheduler': {'workers': '1'},
        # A build that is tried again asks the superconductor for nothing.
        'workarounds': {'disable_group_policy_check_upcall': 'true'},
        'vnc': {'enabled': 'false'}}
