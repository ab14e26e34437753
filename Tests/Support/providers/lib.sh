# Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# What the scripts of the test support share. To be sourced.

HOME="${HOME:-$(getent passwd "$(id -u)" | cut -d: -f6)}"
export HOME

die() {
    echo "ERROR: $*" >&2
    exit 1
}

now_ms() { date +%s%3N; }

# Where django-oauth-toolkit is installed.
dot_environment() { echo "${XDG_CACHE_HOME:-$HOME/.cache}/swift-identity-client-tests/dot"; }

# Where MSAL Python, servers that say who issues their tokens, and pip, uv and AWS's program are installed.
msal_environment() { echo "${XDG_CACHE_HOME:-$HOME/.cache}/swift-identity-client-tests/msal"; }
ai_environment() { echo "${XDG_CACHE_HOME:-$HOME/.cache}/swift-identity-client-tests/ai"; }
resources_environment() { echo "${XDG_CACHE_HOME:-$HOME/.cache}/swift-identity-client-tests/resources"; }
programs_environment() { echo "${XDG_CACHE_HOME:-$HOME/.cache}/swift-identity-client-tests/programs"; }

# Prints the Chromium to use; $CHROMIUM goes first.
find_chromium() {
    local name
    for name in ${CHROMIUM:+"$CHROMIUM"} chromium chromium-browser google-chrome; do
        command -v "$name" && return
    done
    return 1
}

port_is_free() { ! (exec 3<>"/dev/tcp/127.0.0.1/$1") 2>/dev/null; }

# free_ports COUNT: prints the first of COUNT neighbouring free ports. They lie below the ports that the kernel hands
# out by itself, so that no outgoing connection takes one meanwhile.
free_ports() {
    local count="$1" first port
    for _ in {1..100}; do
        first=$((20000 + SRANDOM % 12000))
        for ((port = first; port < first + count; port++)); do
            port_is_free "$port" || continue 2
        done
        echo "$first"
        return
    done
    die "no free port on the loopback interface"
}

# A process is its number and its start time, so that a recycled number is never mistaken for it.
process_start() { sed 's/.*) //' "/proc/$1/stat" 2>/dev/null | cut -d' ' -f20; }

# record_process STATE PID: remembers the process to be stopped.
record_process() { echo "$2 $(process_start "$2")" >"$1/process"; }

process_runs() {
    local pid start
    read -r pid start <"$1/process" 2>/dev/null && [ -n "$start" ] && [ "$(process_start "$pid")" = "$start" ]
}

# stop_process STATE: ends the recorded process, politely for five seconds.
stop_process() {
    local pid
    [ -f "$1/process" ] || return 0
    read -r pid _ <"$1/process"
    if process_runs "$1"; then
        kill "$pid" 2>/dev/null || true
        for _ in {1..100}; do
            process_runs "$1" || break
            sleep 0.05
        done
        if process_runs "$1"; then kill -KILL "$pid" 2>/dev/null || true; fi
    fi
    rm -f "$1/process"
}

# wait_until_ready STATE URL LOG: waits until the recorded process answers.
wait_until_ready() {
    local deadline=$((SECONDS + 30))
    until curl --silent --fail --insecure --noproxy '*' --max-time 5 --output /dev/null "$2"; do
        if ! process_runs "$1" || [ "$SECONDS" -ge "$deadline" ]; then
            tail -n 20 "$3" >&2 || true
            stop_process "$1"
            die "the provider at $2 did not start; its log is $3"
        fi
        sleep 0.05
    done
    process_runs "$1" || die "something else answers at $2"
}

# write_environment STATE NAME=VALUE...: one setting a line, nothing quoted; appears complete or not at all.
write_environment() {
    local state="$1"
    shift
    printf '%s\n' "$@" >"$state/env.new"
    mv "$state/env.new" "$state/env"
    cat "$state/env"
}

# prepare_state STATE: an empty directory for a new provider; sets STATE to its absolute path, and the common settings.
prepare_state() {
    [ -n "${1:-}" ] || die "usage: $(basename "$0") STATE_DIRECTORY"
    if [ -n "$(ls -A "$1" 2>/dev/null)" ] && [ ! -e "$1/.identity-provider" ]; then
        die "$1 is not empty, and no provider's: nothing of it is touched"
    fi
    if [ -d "$1" ]; then stop_process "$1"; fi
    rm -rf "${1:?}"/{env,process,log,db*,*.pem,webapp}
    mkdir -p "$1"
    chmod 700 "$1"
    : >"$1/.identity-provider"
    STATE="$(cd "$1" && pwd)"
    STARTED="$(now_ms)"
    PORT="${PORT:-0}"
    if [ "$PORT" = 0 ]; then PORT="$(free_ports 1)"; fi
    port_is_free "$PORT" || die "port $PORT is taken"
    AT_TTL="${AT_TTL:-15}"
    RT_TTL="${RT_TTL:-600}"
    PROVIDER_USERNAME="${PROVIDER_USERNAME:-alice}"
    PROVIDER_PASSWORD="${PROVIDER_PASSWORD:-correct-horse-7}"
    PROVIDER_CLIENT_ID="${PROVIDER_CLIENT_ID:-swift-public-client}"
    BASE="http://${PROVIDER_HOST:-localhost}:$PORT"
    CA="" CERTIFICATE="" KEY=""
    if [ "${TLS:-0}" = 1 ]; then
        CA_DIR="${CA_DIR:-$STATE/ca}"
        "$SUPPORT/make-ca" "$CA_DIR" >/dev/null
        CA_DIR="$(cd "$CA_DIR" && pwd)"
        BASE="https${BASE#http}"
        CA="$CA_DIR/ca.pem" CERTIFICATE="$CA_DIR/server.pem" KEY="$CA_DIR/server.key"
    fi
    export STATE STARTED PORT BASE AT_TTL RT_TTL PROVIDER_USERNAME PROVIDER_PASSWORD PROVIDER_CLIENT_ID CA CERTIFICATE KEY
}
