#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Stands for the functions of DevStack that our plugin calls: those that edit
# files do it as DevStack's do, the others are recorded in $CALLS.

function _record {
    echo "$*" >> "$CALLS"
}

function define_plugin {
    :
}

function enable_service {
    if [[ " $DISABLED " != *" $1 "* ]]; then
        SERVICES="$SERVICES $1"
    fi
}

function is_service_enabled {
    local service
    for service in "$@"; do
        if [[ " $SERVICES " == *" $service "* ]]; then
            return 0
        fi
    done
    return 1
}

function echo_summary {
    :
}

function async_wait {
    _record "async_wait $* ($(grep -c cell0_rebuild "$NOVA_CONF"))"
}

function setup_package {
    _record "setup_package $* into ${PIP_VIRTUAL_ENV:-the system}"
}

function pip_uninstall {
    _record "pip_uninstall $* from ${PIP_VIRTUAL_ENV:-the system}"
}

function sudo {
    _record "sudo $*"
}

function get_or_create_user {
    _record "get_or_create_user $*"
}

function openstack {
    _record "openstack $*"
}

function run_process {
    if is_service_enabled "$1"; then
        _record "run_process $*"
    fi
}

function stop_process {
    if is_service_enabled "$1"; then
        _record "stop_process $*"
    fi
}

function warn {
    _record "warn"
}

function die {
    _record "die"
    exit 1
}

# iniget FILE SECTION OPTION
function iniget {
    awk -v section="[$2]" -v option="$3" '
        /^\[/ { inside = ($0 == section) }
        inside && $0 ~ "^" option "[ \t]*=" {
            sub(/^[^=]*=[ \t]*/, ""); print
        }' "$1"
}

# inidelete FILE SECTION OPTION
function inidelete {
    awk -v section="[$2]" -v option="$3" '
        /^\[/ { inside = ($0 == section) }
        !(inside && $0 ~ "^" option "[ \t]*=")' "$1" | _write "$1"
}

# iniset FILE SECTION OPTION VALUE
function iniset {
    if ! grep -qF "[$2]" "$1"; then
        printf '\n[%s]\n' "$2" >> "$1"
    fi
    if [[ -z $(iniget "$1" "$2" "$3") ]]; then
        awk -v section="[$2]" -v line="$3 = $4" '
            { print }
            $0 == section { print line }' "$1" | _write "$1"
    else
        awk -v section="[$2]" -v option="$3" -v value="$4" '
            /^\[/ { inside = ($0 == section) }
            inside && $0 ~ "^" option "[ \t]*=" {
                match($0, /^[^=]*=[ \t]*/)
                $0 = substr($0, 1, RLENGTH) value
            }
            { print }' "$1" | _write "$1"
    fi
}

function _write {
    cat > "$1.new"
    # Not "mv": the mode of the file is kept.
    cat "$1.new" > "$1"
    rm "$1.new"
}
