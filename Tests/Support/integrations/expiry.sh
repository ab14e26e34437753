# Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# The checks with tokens that have expired. To be sourced by Scripts/test-integrations.

# Tokens that have expired, at a provider that takes each refresh token once.
test_expiry() {
    local address="https://localhost:$port/brief/git/two.git" old before count header
    make_repository two.git
    git clone --quiet "$address" two
    commit_and_push two "First"
    write_google_json brief /brief
    coproc google { ask_google google-brief.json; }
    echo >&"${google[1]}"
    read -r -t 30 header <&"${google[0]}"
    old="$(identityctl token --profile brief)"
    wait_until_expired "$brief" "$old"
    before="$(renewals "$brief")"
    forget
    commit_and_push two "After the end"
    expect "the pushed commit" "$(git -C "$work/git/two.git" log -1 --format=%s main)" "After the end"
    # The program with Google's library still runs.
    echo >&"${google[1]}"
    read -r -t 30 header <&"${google[0]}"
    expect "the header" "$header" "Bearer given-by-google"
    expect "what Google got" "$(seen token service=google status=200)" \
        "$(digest "$(identityctl token --profile brief --id-token)")"
    eval "exec ${google[1]}>&-"
    expect "the requests to the provider" "$(($(renewals "$brief") - before))" 1
    [ "$(seen token service=git status=200)" != "$(digest "$old")" ] || fail "git sent an expired token"

    echo "    ten clones and ten programs with Google's library at once"
    old="$(identityctl token --profile brief)"
    wait_until_expired "$brief" "$old"
    before="$(renewals "$brief")"
    forget
    for count in {1..10}; do git clone --quiet "$address" "clone-$count" 2>"clone-$count.log" & done
    for count in {1..10}; do ask_google google-brief.json <<<"" >"google-$count" 2>&1 & done
    wait
    for count in {1..10}; do expect "Google's library, $count" "$(cat "google-$count")" "Bearer given-by-google"; done
    for count in {1..10}; do
        expect "clone $count" "$(git -C "clone-$count" log -1 --format=%s; cat "clone-$count.log")" "After the end"
    done
    expect "the requests to the provider" "$(($(renewals "$brief") - before))" 1
    expect "the tokens" "$(seen token service=git status=200 | wc -l)" 1

    echo "    twenty-two helpers at once"
    old="$(identityctl token --profile brief)"
    wait_until_expired "$brief" "$old"
    before="$(renewals "$brief")"
    forget
    mkdir answers
    for count in 1 2; do call_each_helper "$count"; done
    wait
    token="$(identityctl token --profile brief)"
    expect "the requests to the provider" "$(($(renewals "$brief") - before))" 1
    expect "the answers" "$(find answers -name '*.out' -size +0 | wc -l)" 22
    expect "what AWS got" "$(seen token service=sts status=200)" \
        "$(digest "$(identityctl token --profile brief --id-token)")"
    for count in answers/*.out; do
        case "$count" in
            */kubectl-*) expect_words "$count" "$(cat "$count")" "$(identityctl token --profile brief --id-token)" ;;
            */aws-*) expect_words "$count" "$(cat "$count")" '"AccessKeyId":"ASIA' ;;
            */*oauth*) expect_words "$count" "$(base64 -d "$count" | tr '\1' ' ')" "auth=Bearer $token " ;;
            *) expect_words "$count" "$(cat "$count")" "$token" ;;
        esac
    done
    token="$(identityctl token --profile work)"
}

# call_each_helper NUMBER: calls eleven helpers in the background, as their programs do.
call_each_helper() {
    local place="localhost:$port/brief" n="$1"
    answer() {
        local name="$1" request="$2"
        shift 2
        printf '%b' "$request" | "$@" >"answers/$name-$n.out" 2>"answers/$name-$n.err" &
    }
    answer git "protocol=https\nhost=localhost:$port\npath=brief/x\n\n" git-credential-identityctl get
    answer docker "$place" docker-credential-identityctl get
    answer kubectl "" env "KUBERNETES_EXEC_INFO=$(exec_info "https://$place")" identityctl helper kubectl
    answer token "" identityctl token --profile brief
    answer xoauth2 "" identityctl helper xoauth2 --profile brief --user a@example.test
    answer oauthbearer "" identityctl helper oauthbearer --profile brief --user a@example.test --host h --port 993
    answer keyring "" "$work/keyring/keyring" get "https://$place/simple/" oauth2
    answer cargo "{\"v\":1,\"registry\":{\"index-url\":\"sparse+https://$place/\"},\"kind\":\"get\",\"operation\":\"read\"}\n" \
        cargo-credential-identityctl --cargo-plugin
    answer bazel "{\"uri\":\"https://$place/x\"}" bazel-credential-identityctl get
    answer pnpm "" env IDENTITYCTL_PROFILE=brief pnpm-token-identityctl
    answer aws "" identityctl helper aws --profile brief --role-arn "$role" --sts-endpoint "https://$place/sts/"
}
