# Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# What the checks of Scripts/test-integrations share. To be sourced by it.

fail() {
    echo "ERROR: $*" >&2
    exit 1
}

# expect WHAT FOUND WANTED: ends the script unless both are the same.
expect() { [ "$2" = "$3" ] || fail "$1: this is '$2', and not '$3'"; }

# expect_words WHAT TEXT WORDS: ends the script unless the text has the words.
expect_words() { [[ "$2" == *"$3"* ]] || fail "$1: this has no '$3': $2"; }

# refused COMMAND...: runs a command that must fail; sets said to what it wrote.
refused() {
    if said="$(timeout 60 "$@" 2>&1 </dev/null)"; then fail "this did not fail: $* $said"; fi
}

# digest TEXT: stands for a token in the servers' log.
digest() { printf %s "$1" | sha256sum | cut -c1-16; }

# seen FIELD [NAME=PATTERN...]: what the servers saw since the last forget.
seen() { "$integrations/seen" "$work/servers/requests" "$@"; }
forget() { : >"$work/servers/requests"; }

# exec_info ADDRESS: what kubectl tells its helper about a cluster, in the form of v1.
exec_info() {
    printf '{"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential",'
    printf '"spec":{"interactive":false,"cluster":{"server":"%s"}}}' "$1"
}

# setting FILE NAME: a value of a file with lines NAME=VALUE.
setting() { sed -n "s/^$2=//p" "$1"; }

# ask_database STATE STATEMENT: runs it in a provider's database and prints the first value.
ask_database() {
    /usr/bin/python3 -c '
import sqlite3, sys
with sqlite3.connect(sys.argv[1], timeout=20) as database:
    print((database.execute(sys.argv[2]).fetchone() or [""])[0])' "$1/db.sqlite3" "$2"
}

# renewals STATE: how often a person's tokens came. The first time is the sign-in. Each has a refresh token of its own, whose
# row stays when it is spent.
renewals() { ask_database "$1" 'SELECT count(*) FROM oauth2_provider_refreshtoken'; }

# wait_until_expired STATE TOKEN: waits until the provider no longer takes the token.
wait_until_expired() {
    local deadline=$((SECONDS + 60)) issuer
    issuer="$(setting "$1/env" ISSUER)"
    while printf 'header = "Authorization: Bearer %s"\n' "$2" |
        curl --silent --fail --config - --output /dev/null "$issuer/userinfo/"; do
        [ "$SECONDS" -lt "$deadline" ] || fail "the provider takes an expired token"
        sleep 0.5
    done
}

# sign_in PROFILE STATE [OPTION...]: makes a profile for a provider, with tokens of its own, and signs the person in.
sign_in() {
    local profile="$1" state="$2"
    shift 2
    identityctl profile add "$profile" --issuer "$(setting "$state/env" ISSUER)" \
        --client-id "$(setting "$state/env" CLIENT_ID)" --scope openid --scope email --cache "file:$work/tokens-$profile" "$@"
    sign_in_again "$profile" "$state"
}

# sign_in_again PROFILE STATE
sign_in_again() {
    PERSON_PROVIDER="$2/env" identityctl login --profile "$1" --browser "$support/browser/form-person"
}

# end_token: lets the token of the profile work end, for the provider and for identityctl.
end_token() { "$integrations/change-token" "$provider" "$work/tokens-work" end; }

# start_server STATE PORT_FILE COMMAND...: starts it, and waits until it wrote the file, or answers if the file is a number.
start_server() {
    local state="$1" sign="$2" deadline=$((SECONDS + 30))
    shift 2
    setsid "$@" >"$state/output" 2>&1 </dev/null &
    record_process "$state" $!
    disown  # a wait for helpers is not for it
    [[ " ${started[*]} " == *" $state "* ]] || started+=("$state")
    until [ -e "$sign" ] || { [[ "$sign" =~ ^[0-9]+$ ]] && ! port_is_free "$sign"; }; do
        if ! process_runs "$state" || [ "$SECONDS" -ge "$deadline" ]; then
            cat "$state/output" >&2
            fail "$1 did not start"
        fi
        sleep 0.05
    done
}

# Starts two providers: tokens of the second are good for 20 s.
start_providers() {
    local state lifetime
    ca="$("$support/providers/make-ca" "$work/ca")"
    for state in "$work/provider" "$work/brief-provider"; do
        lifetime=3600
        if [ "$state" != "$work/provider" ]; then lifetime=20; fi
        mkdir "$state"
        started+=("$state")
        env CA_DIR="$work/ca" TLS=1 AT_TTL="$lifetime" "$support/providers/start-dot" "$state" >/dev/null
    done
    provider="$work/provider" brief="$work/brief-provider"
}

# Starts what the programs talk to, in $work/servers.
start_servers() {
    cat >"$work/servers/settings" <<SETTINGS
PROVIDER=$provider/env
BRIEF=$brief/env
CERTIFICATE=$work/ca/server.pem
KEY=$work/ca/server.key
GIT_ROOT=$work/git
SETTINGS
    forget
    start_server "$work/servers" "$work/servers/ports" "$integrations/servers" "$work/servers"
    port="$(setting "$work/servers/ports" HTTPS)" mail_port="$(setting "$work/servers/ports" SMTPS)"
    registry_port="$(free_ports 1)"
}

# Starts a docker registry, in $work/registry, which sends its clients to those servers.
start_registry() {
    cat >"$work/registry/config.yml" <<CONFIG
version: 0.1
log: {level: warn}
storage: {filesystem: {rootdirectory: $work/registry/storage}}
http: {addr: "127.0.0.1:$registry_port", tls: {certificate: $work/ca/server.pem, key: $work/ca/server.key}}
auth:
  token:
    realm: https://localhost:$port/registry-token
    service: test-registry
    issuer: test-registry
    rootcertbundle: $ca
CONFIG
    start_server "$work/registry" "$registry_port" docker-registry serve "$work/registry/config.yml"
}

# make_repository NAME: makes one with a commit, on the server.
make_repository() {
    local repository="$work/git/$1"
    git init --quiet --bare --initial-branch=main "$repository"
    git -C "$repository" update-ref refs/heads/main \
        "$(git -C "$repository" commit-tree -m Empty "$(git -C "$repository" hash-object -t tree -w /dev/null)")"
}

# Takes away what would lead the programs to the person's own settings, and gives them a home.
leave_home() {
    local name
    export RUSTUP_HOME="${RUSTUP_HOME:-$HOME/.rustup}"
    for name in $(compgen -e); do
        case "$name" in
            IDENTITYCTL_* | GIT_* | CARGO_* | PIP_* | UV_* | AWS_* | XDG_* | KUBECONFIG | DOCKER_CONFIG | REGISTRY_AUTH_FILE | \
                SSH_ASKPASS | SSL_CERT_* | CURL_CA_BUNDLE | REQUESTS_CA_BUNDLE | PYTHON* | VIRTUAL_ENV | *_proxy | *_PROXY | \
                DISPLAY | WAYLAND_DISPLAY | DBUS_SESSION_BUS_ADDRESS) unset "$name" ;;
        esac
    done
    export HOME="$work/home" GIT_CONFIG_NOSYSTEM=1 GIT_TERMINAL_PROMPT=0 PIP_CONFIG_FILE=/dev/null UV_NO_CONFIG=1
    mkdir -p "$HOME"
    cd "$HOME"
}
