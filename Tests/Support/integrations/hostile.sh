# Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# The checks with requests that no program makes in good faith. To be sourced by Scripts/test-integrations.

# no_token NAME REQUEST COMMAND...: a request that gets no token, and no end by a signal or a time-out.
no_token() {
    local name="$1" request="$2" status=0
    shift 2
    printf "$request" | timeout 20 "$@" >hostile.out 2>hostile.err || status=$?
    [ "$status" -lt 124 ] || fail "$name: status $status"
    if grep -qF "$token" hostile.out hostile.err; then fail "$name: a token for this was handed out"; fi
}

# Requests that no program sends in good faith.
test_hostile() {
    local long name host
    long="$(printf '%065600d' 0)"
    for name in "localhost:${port}0" "localhost:$port.example.test" "localhost:$port@example.test" "localhost" \
        "localhost.example.test:$port" "xlocalhost:$port" "127.0.0.1:$port" "[::1]:$port" "localhost:$port\\\\x" "localhost:$port%%2f" \
        "$long" "localhost:$port\1" "localhost:$port\0" "localhost:$port\rx"; do
        host="$name"
        name="host ${name:0:40}"
        no_token "git, $name" "protocol=https\nhost=$host\n\n" git-credential-identityctl get
        no_token "docker, $name" "$host" docker-credential-identityctl get
        no_token "bazel, $name" "{\"uri\":\"https://$host/\"}" bazel-credential-identityctl get
        no_token "cargo, $name" "{\"v\":1,\"registry\":{\"index-url\":\"sparse+https://$host/\"},\"kind\":\"get\"}\n" \
            cargo-credential-identityctl --cargo-plugin
        if [[ "$host" != *'\0' ]]; then
            no_token "keyring, $name" "" "$work/keyring/keyring" get "$(printf "https://$host/")" oauth2
            no_token "kubectl, $name" "" env KUBERNETES_EXEC_INFO="$(exec_info "$(printf "https://$host")")" \
                identityctl helper kubectl
        fi
    done
    no_token "git, http" "protocol=http\nhost=localhost:$port\n\n" git-credential-identityctl get
    no_token "git, a line of 64 KB" "protocol=https\nhost=localhost:$port\npath=$long\n\n" git-credential-identityctl get
    expect_words "the error" "$(cat hostile.err)" "too long"
    no_token "git, NUL" "protocol=https\nhost=localhost:$port\npath=a\0b\n\n" git-credential-identityctl get
    expect_words "the error" "$(cat hostile.err)" "no key=value"
    no_token "cargo, no end" "{\"v\":1,\"registry\":{\"index-url\":\"$long" cargo-credential-identityctl --cargo-plugin
    no_token "bazel, NUL" "\0" bazel-credential-identityctl get
    no_token "docker, nothing" "" docker-credential-identityctl get
    no_token "pnpm, no profile" "" env IDENTITYCTL_PROFILE=none pnpm-token-identityctl
    for name in $'a\nb' $'a\001auth=x' "$long"; do
        no_token "mail, ${name:0:4}" "" identityctl helper xoauth2 --profile work --user "$name"
        no_token "mail, ${name:0:4}" "" identityctl helper oauthbearer --profile work --user a --host "$name" --port 993
    done

    # Git at another name of the same server, and led there: the helper is asked, and has nothing for it.
    forget
    refused git clone --quiet "https://127.0.0.1:$port/git/one.git" elsewhere
    refused git clone --quiet "https://localhost:$port/moved/one.git" elsewhere
    expect "the paths" "$(seen service host=127.*)" git
    expect "what another name got" "$(seen token)" null

    # A registry that leads to another name, and that name itself.
    forget
    printf '{"credHelpers": {"localhost:%s": "identityctl", "127.0.0.1:%s": "identityctl"}}\n' "$port" "$port" >hostile.json
    refused skopeo inspect --authfile hostile.json "docker://localhost:$port/thing:1"
    expect_words "what the registry got" "$(seen token service=v2 host=localhost.*)" "$(digest "$token")"
    refused skopeo inspect --authfile hostile.json "docker://127.0.0.1:$port/thing:1"
    expect "what another registry got" "$(seen token service=v2 host=127.*)" null

    # A token service that leads to another name gets the ID token, and no other name does.
    forget
    refused identityctl helper aws --profile work --sts-endpoint "https://localhost:$port/moved/"
    expect_words "the refusal" "$said" "a token follows no redirect"
    refused identityctl helper aws --profile work --sts-endpoint "http://localhost.example.test/"
    expect_words "the refusal" "$said" "give an https address"
    expect "where the ID token went" "$(seen host)" "localhost:$port"
}
