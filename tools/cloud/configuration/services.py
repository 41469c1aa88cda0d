# SPDX-License-Identifier: Apache-2.0

"""The configuration files of all services but Nova's."""

from tools.cloud.configuration import common


def keystone(plan):
    """Return keystone.conf."""
    keys = {'key_repository': common.state(plan, 'keystone/fernet-keys')}
    return {
        'database': {'connection': plan.database('keystone')},
        'fernet_tokens': keys, 'fernet_receipts': keys,
        'cache': {
            'enabled': 'true', 'backend': 'dogpile.cache.pymemcache',
            'memcache_servers': plan.memcached}}


def glance(plan):
    """Return glance-api.conf."""
    staging = common.state(plan, 'glance/staging')
    return {
        'DEFAULT': {'enabled_backends': 'files:file',
                    'node_staging_uri': f'file://{staging}'},
        'database': {'connection': plan.database('glance')},
        'glance_store': {'default_backend': 'files'},
        'files': {
            'filesystem_store_datadir': common.state(plan, 'glance/images')},
        'os_glance_staging_store': {'filesystem_store_datadir': staging},
        'os_glance_tasks_store': {
            'filesystem_store_datadir': common.state(plan, 'glance/tasks')},
        'keystone_authtoken': common.authtoken(plan, 'glance'),
        'oslo_concurrency': common.locks(plan, 'glance'),
        'paste_deploy': {
            'flavor': 'keystone',
            'config_file': str(common.ETC / 'glance/glance-api-paste.ini')}}


def placement(plan):
    """Return placement.conf."""
    return {
        'placement_database': {'connection': plan.database('placement')},
        'keystone_authtoken': common.authtoken(plan, 'placement')}


def neutron(plan):
    """Return neutron.conf, with the options of its plug-in."""
    return {
        'DEFAULT': {
            'core_plugin': 'ml2', 'service_plugins': 'router',
            'transport_url': plan.broker(),
            'state_path': common.state(plan, 'neutron'),
            'api_paste_config': str(common.ETC / 'neutron/api-paste.ini'),
            'dhcp_agent_notification': 'false',
            'notify_nova_on_port_status_changes': 'true',
            'notify_nova_on_port_data_changes': 'true'},
        'database': {'connection': plan.database('neutron')},
        'keystone_authtoken': common.authtoken(plan, 'neutron'),
        'nova': common.credentials(plan, 'nova'),
        'oslo_concurrency': common.locks(plan, 'neutron'),
        'quotas': {f'quota_{resource}': '-1' for resource in (
            'network', 'subnet', 'port', 'security_group',
            'security_group_rule')},
        'ml2': {
            'type_drivers': 'local', 'tenant_network_types': 'local',
            'mechanism_drivers': 'loopback',
            'extension_drivers': 'port_security'},
        'securitygroup': {'enable_security_group': 'true'}}


def cinder(plan):
    """Return cinder.conf."""
    locks = common.state(plan, 'cinder/coordination')
    return {
        'DEFAULT': {
            'host': 'cinder', 'transport_url': plan.broker(),
            'state_path': common.state(plan, 'cinder'),
            'api_paste_config': str(common.ETC / 'cinder/api-paste.ini'),
            'resource_query_filters_file': str(
                common.ETC / 'cinder/resource_filters.json'),
            'enabled_backends': 'files', 'default_volume_type': 'files',
            'quota_volumes': '-1', 'quota_snapshots': '-1',
            'quota_gigabytes': '-1',
            # The scheduler knows a backend by its reports, and may miss the
            # first one. The next comes after up to two minutes by default.
            'periodic_interval': '5', 'periodic_fuzzy_delay': '0',
            'backend_stats_polling_interval': '5'},
        'files': {
            'volume_driver': 'cloud_drivers.volumes.FileDriver',
            'volume_backend_name': 'files'},
        'database': {'connection': plan.database('cinder')},
        'keystone_authtoken': common.authtoken(plan, 'cinder'),
        'nova': {**common.credentials(plan, 'cinder'), 'interface': 'public'},
        'service_user': {
            **common.credentials(plan, 'cinder'),
            'send_service_user_token': 'true'},
        'oslo_concurrency': common.locks(plan, 'cinder'),
        'coordination': {'backend_url': f'file://{locks}'}}
