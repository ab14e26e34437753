# Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# The check of services under systemd. To be sourced by Scripts/test-integrations.

test_systemd() {
    local state="$work/systemd" status
    if [ "$(id -u)" != 0 ] || [ ! -x /lib/systemd/systemd ] || ! unshare --mount --pid --cgroup --fork true 2>/dev/null; then
        echo "    NOT RUN: this needs root, namespaces and systemd"
        return
    fi
    mkdir -p "$state"
    cp -r "$support/browser" "$integrations/lib.sh" "$state"
    sed '/^CA=/d' "$provider/env" >"$state/provider"
    install -m 0644 "$ca" "$state/ca.pem"
    grep -E '^(ISSUER|CLIENT_ID)=' "$provider/env" >"$state/settings"
    timeout 120 unshare --mount --pid --cgroup --uts --ipc --fork --kill-child "$integrations/systemd-machine" "$state" \
        "$program" "$support/../../Packaging/systemd" "$integrations/systemd-checks"
    cat "$state/output"
    read -r status <"$state/status"
    expect "the status of the checks" "$status" 0
}
