# Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# The check of the agent over ssh. To be sourced by Scripts/test-integrations.

# far COMMAND...: runs it on the far machine, over the connection that forwards the agent.
far() { timeout 30 ssh -F none -S "$work/ssh/control" far "$(printf '%q ' "$@")"; }

# far_fails STATUS WORDS COMMAND...: a command on the far machine that must end so, and soon.
far_fails() {
    local status=0 wanted="$1" words="$2" began="$SECONDS"
    shift 2
    said="$(far "$@" 2>&1 </dev/null)" || status=$?
    expect "the status of $*" "$status" "$wanted"
    expect_words "what $* said" "$said" "$words"
    [ "$((SECONDS - began))" -lt 10 ] || fail "$* took $((SECONDS - began)) s"
}

start_agent() {
    mkdir -p "$work/agent"
    start_server "$work/agent" "$work/agent/socket" env SSH_ASKPASS="$work/ssh/askpass" \
        identityctl agent --socket "$work/agent/socket"
}

# connect: what a person types is ssh -R /run/user/ID/identityctl.sock:$XDG_RUNTIME_DIR/identityctl/agent.sock far
connect() {
    rm -f "$work/ssh/control"  # that of a connection before is there, and leads nowhere
    start_server "$work/ssh" "$work/ssh/control" ssh -F none -N -M -S "$work/ssh/control" -i "$work/ssh/key" -p "$ssh_port" \
        -o BatchMode=yes -o StrictHostKeyChecking=no -o UserKnownHostsFile="$work/ssh/known" -o ExitOnForwardFailure=yes \
        -R "/run/user/20817/identityctl.sock:$work/agent/socket" far@127.0.0.1
}

# signal_agent NAME: sends a signal to the agent's process.
signal_agent() {
    local pid
    read -r pid _ <"$work/agent/process"
    kill "-$1" "$pid"
}

test_ssh() {
    if [ "$(id -u)" != 0 ] || ! unshare --mount --pid --fork true 2>/dev/null; then
        echo "    NOT RUN: this needs root and namespaces, for a machine with another user"
        return
    fi
    local ssh_port said name address="https://localhost:$port"
    ssh_port="$(free_ports 1)"
    make_repository far.git
    mkdir -p "$work/ssh" "$work/far"
    ssh-keygen -q -t ed25519 -N '' -f "$work/ssh/key"
    start_server "$work/far" "$ssh_port" unshare --mount --pid --fork --kill-child "$integrations/far-machine" \
        "$ssh_port" "$work/ssh/key.pub" "$ca" "$program"
    # Its first process ends all others of that machine.
    read -r name _ <"$work/far/process"
    record_process "$work/far" "$(cut -d' ' -f1 "/proc/$name/task/$name/children")"
    start_agent
    connect

    # Tokens, by every way in which programs get them.
    expect "the far user" "$(far id -un)" far
    expect "the token" "$(far identityctl token --profile work)" "$token"
    expect "the token of exec" "$(far identityctl exec --profile work -- printenv BEARER_TOKEN)" "$token"
    expect "the answer to call" "$(far identityctl call --profile work "$address/person")" '{"sub": "1"}'
    far git config --global credential.helper identityctl
    far git config --global http.sslCAInfo /run/etc/ca.pem
    forget
    far git clone --quiet "$address/git/far.git" 2>&1
    expect "what git sent" "$(seen token service=git status=200)" "$(digest "$token")"
    expect_words "docker" "$(far docker-credential-identityctl get <<<"localhost:$port")" "\"Secret\":\"$token\""
    expect_words "kubectl" "$(far identityctl helper kubectl --profile work)" "$(identityctl token --profile work --id-token)"
    expect "keyring" "$(far keyring get "$address/python/simple/" oauth2)" "$token"
    far_fails 1 "" keyring get https://other.example.test/ oauth2
    expect_words "doctor" "$(far identityctl doctor --without-browser 2>&1)" "identityctl.sock, profiles: brief, work"

    # Nothing is kept there: no token, no file of ours besides the socket, and no refresh token ever came.
    local secrets
    secrets="$(ask_database "$provider" 'SELECT group_concat(token, char(10)) FROM oauth2_provider_refreshtoken')
$(ask_database "$provider" 'SELECT group_concat(token, char(10)) FROM oauth2_provider_accesstoken')"
    expect_words "the secrets" "$secrets" "$token"
    far tee /tmp/found-by-the-search <<<"$token" >/dev/null
    expect "the files with tokens" "$(far grep -rlFf - /run/far /tmp /run/user <<<"$secrets")" /tmp/found-by-the-search
    expect "our files" "$(far find /run/far /tmp /run/user -name '*identity*' ! -type l)" /run/user/20817/identityctl.sock

    for name in login logout accounts cache; do far_fails 64 "is another machine's" identityctl "$name"; done
    # The agent belongs to its own machine: the far one can lock it, and nothing else.
    for name in unlock stop; do
        far_fails 7 "on the machine where it runs" identityctl agent "$name"
        said="$(far /usr/bin/python3 -c "
import os, socket
with socket.socket(socket.AF_UNIX) as agent:
    agent.connect(os.environ['IDENTITYCTL_AGENT'])
    agent.sendall(b'{\"request\":\"$name\"}')
    print(agent.recv(4096).decode())")"
        expect_words "the answer to $name" "$said" '"code":"configuration.blocked_by_policy"'
    done
    far identityctl agent lock
    far_fails 4 "identityctl agent unlock" identityctl token --profile work
    identityctl agent unlock --socket "$work/agent/socket"
    expect "the token after the lock" "$(far identityctl token --profile work)" "$token"
    far_fails 7 "does not allow 'files.write'" identityctl token --profile work --scope files.write

    # A question at the near machine, which has no desktop.
    local profiles="$HOME/.config/identityctl/profiles"
    { grep -v '^serves' "$profiles/work.conf"; echo 'agent-confirm = always'; } >"$profiles/asked.conf"
    printf '#!/bin/sh\nprintf "%%s" "$SSH_ASKPASS_PROMPT: $1" >"%s/asked"\n[ -e "%s/yes" ]\n' "$work/ssh" "$work/ssh" \
        >"$work/ssh/askpass"
    chmod 700 "$work/ssh/askpass"
    chmod 600 "$profiles/asked.conf"
    touch "$work/ssh/yes"
    expect "the allowed token" "$(far identityctl token --profile asked)" "$token"
    expect_words "the question" "$(cat "$work/ssh/asked")" "confirm: Hand out a token of 'asked'?"
    expect_words "the question" "$(cat "$work/ssh/asked")" "ssh (process $(cut -d' ' -f1 "$work/ssh/process")) asks for another machine"
    rm "$work/ssh/yes"
    far_fails 7 "did not allow this token" identityctl token --profile asked
    # After a no, the person has peace for a while.
    rm "$work/ssh/asked"
    far_fails 7 "asks again" identityctl token --profile asked
    expect "the further question" "$(cat "$work/ssh/asked" 2>/dev/null)" ""

    echo "    the laptop asleep"
    signal_agent STOP
    far_fails 4 "did not answer within 1 s" identityctl token --profile work --timeout 1
    far_fails 128 "did not answer within 1 s" git -c credential.helper= -c credential.helper='identityctl --timeout 1' \
        clone --quiet "$address/git/far.git" other
    signal_agent CONT
    expect "the token after waking up" "$(far identityctl token --profile work)" "$token"

    echo "    the agent killed"
    signal_agent KILL
    far_fails 4 "closed the connection" identityctl token --profile work
    far_fails 128 "closed the connection" git clone --quiet "$address/git/far.git" other
    rm -f "$work/agent/socket"
    start_agent
    expect "the token of the next agent" "$(far identityctl token --profile work)" "$token"

    # Another connection takes the place of the socket that the first one left.
    stop_process "$work/ssh"
    connect
    expect "the token over the next connection" "$(far identityctl token --profile work)" "$token"
}
