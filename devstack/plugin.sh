#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# DevStack plugin: installs cell0-rebuild beside Nova and switches it on.
#
# What it needs is in devstack/settings and, of DevStack, in lib/nova.

CELL0_REBUILD_COMMANDS="cell0-rebuild-manage cell0-rebuild-status \
    cell0-rebuild-wait"

# The environment that Nova is installed in; nothing if it is the system.
function _cell0_rebuild_venv {
    if [[ $USE_VENV == True ]]; then
        echo "${PROJECT_VENV["nova"]:-}"
    elif [[ $GLOBAL_VENV == True ]]; then
        echo "$DEVSTACK_VENV"
    fi
}

# The files of nova-api and of the conductors that it talks to. That is the
# super conductor, or the only one. The conductors of the cells read files of
# their own, and need nothing.
function _cell0_rebuild_files {
    printf '%s\n' "$NOVA_CONF" "$NOVA_COND_CONF" | sort -u
}

function install_cell0_rebuild {
    local venv command
    venv=$(_cell0_rebuild_venv)
    PIP_VIRTUAL_ENV=$venv setup_package "$CELL0_REBUILD_DIR" -e
    # Where DevStack links nova-manage to.
    for command in ${venv:+$CELL0_REBUILD_COMMANDS}; do
        sudo ln -sf "$venv/bin/$command" /usr/local/bin
    done
}

# Whether a file names us among its sources of configuration.
function _cell0_rebuild_is_in {
    local sources
    sources=$(iniget "$1" DEFAULT config_source)
    [[ ,${sources// /}, == *,cell0_rebuild,* ]]
}

function configure_cell0_rebuild {
    local file sources
    # It edits the same files in the background.
    async_wait configure_neutron_nova
    for file in $(_cell0_rebuild_files); do
        if ! _cell0_rebuild_is_in "$file"; then
            sources=$(iniget "$file" DEFAULT config_source)
            iniset "$file" DEFAULT config_source \
                "${sources:+$sources,}cell0_rebuild"
        fi
        iniset "$file" cell0_rebuild driver cell0_rebuild
        iniset "$file" cell0_rebuild allow_untested_nova \
            "$CELL0_REBUILD_ALLOW_UNTESTED_NOVA"
    done
}

# Makes the user of the waiting service, whose role all projects of the default
# domain inherit, and a file that only the service reads.
function configure_cell0_rebuild_wait {
    local file=$CELL0_REBUILD_WAIT_CONF section=cell0_rebuild_wait
    get_or_create_user "$CELL0_REBUILD_WAIT_USER" \
        "$CELL0_REBUILD_WAIT_PASSWORD" default
    openstack --os-cloud devstack-system-admin role add \
        --user "$CELL0_REBUILD_WAIT_USER" --user-domain default \
        --domain default --inherited "$CELL0_REBUILD_WAIT_ROLE"
    install -m 600 /dev/null "$file"
    iniset "$file" $section auth_type password
    iniset "$file" $section auth_url "$KEYSTONE_SERVICE_URI"
    iniset "$file" $section cafile "$SSL_BUNDLE_FILE"
    iniset "$file" $section region_name "$REGION_NAME"
    iniset "$file" $section username "$CELL0_REBUILD_WAIT_USER"
    iniset "$file" $section user_domain_id default
    iniset "$file" $section password "$CELL0_REBUILD_WAIT_PASSWORD"
}

function start_cell0_rebuild_wait {
    run_process cell0-rebuild-wait "$NOVA_BIN_DIR/cell0-rebuild-wait \
--config-file $NOVA_CONF --config-file $CELL0_REBUILD_WAIT_CONF"
}

function stop_cell0_rebuild_wait {
    stop_process cell0-rebuild-wait
    rm -f "$CELL0_REBUILD_WAIT_CONF"
}

# Says early, and here, what users would find out by a refused rebuild. What
# is only a warning, such as that servers wait, is shown and fails nothing.
function check_cell0_rebuild {
    local file status=0
    for file in $(_cell0_rebuild_files); do
        if ! _cell0_rebuild_is_in "$file"; then
            die $LINENO "config_source of $file does not name cell0_rebuild: \
local.conf has replaced it"
        fi
    done
    "$NOVA_BIN_DIR/cell0-rebuild-status" --config-file "$NOVA_CONF" \
        upgrade check || status=$?
    if [[ $status == 1 ]]; then
        warn $LINENO "cell0-rebuild-status upgrade check warns: see above"
    elif [[ $status != 0 ]]; then
        die $LINENO "cell0-rebuild cannot rebuild buried servers: see above"
    fi
}

# Tells the Tempest plugin of this repository that its tests can run, and what
# local.conf has set that they depend on.
function configure_tempest_for_cell0_rebuild {
    iniset "$TEMPEST_CONFIG" service_available cell0_rebuild True
    _cell0_rebuild_tell_tempest microversion cell0_rebuild api_microversion
    if is_service_enabled cell0-rebuild-wait; then
        iniset "$TEMPEST_CONFIG" cell0_rebuild waiting True
        _cell0_rebuild_tell_tempest who cell0_rebuild_wait who
        _cell0_rebuild_tell_tempest show cell0_rebuild_wait show
    fi
}

# Usage: _cell0_rebuild_tell_tempest OPTION SECTION-OF-NOVA OPTION-OF-NOVA
function _cell0_rebuild_tell_tempest {
    local value
    value=$(iniget "$NOVA_CONF" "$2" "$3")
    if [[ -n $value ]]; then
        iniset "$TEMPEST_CONFIG" cell0_rebuild "$1" "$value"
    fi
}

function unconfigure_cell0_rebuild {
    local file
    # DevStack makes the file of nova-compute from that of nova-api.
    for file in $(_cell0_rebuild_files) "$NOVA_CPU_CONF"; do
        if [[ -f $file ]]; then
            _cell0_rebuild_forget "$file"
        fi
    done
}

# Take out of a file what configure_cell0_rebuild wrote, and nothing else.
function _cell0_rebuild_forget {
    local file=$1 sources others
    sources=$(iniget "$file" DEFAULT config_source)
    others=$(sed -E -e 's/(^|,) *cell0_rebuild *(,|$)/\2/' -e 's/^, *//' \
        <<< "$sources")
    if [[ -z $others ]]; then
        inidelete "$file" DEFAULT config_source
    elif [[ $others != "$sources" ]]; then
        iniset "$file" DEFAULT config_source "$others"
    fi
    inidelete "$file" cell0_rebuild driver
    inidelete "$file" cell0_rebuild allow_untested_nova
    # Of an empty section, DevStack leaves the name and the line before it.
    sed -i -z -E 's/\n\n\[cell0_rebuild\]\n(\n*\[|$)/\n\1/' "$file"
}

function uninstall_cell0_rebuild {
    local venv command
    venv=$(_cell0_rebuild_venv)
    PIP_VIRTUAL_ENV=$venv pip_uninstall cell0-rebuild
    for command in ${venv:+$CELL0_REBUILD_COMMANDS}; do
        sudo rm -f "/usr/local/bin/$command"
    done
}

# A host of nova-compute alone, or of a cell, needs nothing.
function _cell0_rebuild_is_wanted {
    is_service_enabled cell0-rebuild && is_service_enabled n-api n-cond
}

function _cell0_rebuild_waits {
    is_service_enabled cell0-rebuild-wait && is_service_enabled n-api
}

if [[ $1 == stack ]] && _cell0_rebuild_is_wanted; then
    case $2 in
        install)
            echo_summary "Installing cell0-rebuild"
            install_cell0_rebuild
            ;;
        post-config)
            echo_summary "Configuring Nova to use cell0-rebuild"
            configure_cell0_rebuild
            if _cell0_rebuild_waits; then
                configure_cell0_rebuild_wait
            fi
            ;;
        extra)
            if _cell0_rebuild_waits; then
                echo_summary "Starting cell0-rebuild-wait"
                start_cell0_rebuild_wait
            fi
            ;;
        test-config)
            if is_service_enabled n-api; then
                check_cell0_rebuild
            fi
            if is_service_enabled tempest; then
                configure_tempest_for_cell0_rebuild
            fi
            ;;
    esac
elif [[ $1 == unstack || $1 == clean ]]; then
    stop_cell0_rebuild_wait
    unconfigure_cell0_rebuild
    if [[ $1 == clean ]]; then
        uninstall_cell0_rebuild
    fi
fi
