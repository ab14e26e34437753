# Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# The checks of each program. To be sourced by Scripts/test-integrations.

# commit_and_push REPOSITORY TEXT
commit_and_push() {
    git -C "$1" commit --quiet --allow-empty --message="$2"
    git -C "$1" push --quiet origin HEAD:main
}

set_up_git() {
    git config --global user.name Alice
    git config --global user.email alice@example.test
    git config --global http.sslCAInfo "$ca"
    git config --global credential.helper identityctl
    git config --global credential.useHttpPath true
}

test_git() {
    make_repository one.git
    git clone --quiet "https://localhost:$port/git/one.git" one
    commit_and_push one "First"
    expect "the pushed commit" "$(git -C "$work/git/one.git" log -1 --format=%s main)" First
    expect "what git sent" "$(seen token service=git status=200)" "$(digest "$token")"
    expect "the username" "$(seen user service=git status=200)" oauth2

    # The provider takes the token back: git calls the helper with 'erase', and the next call has another token.
    ask_database "$provider" "UPDATE oauth2_provider_accesstoken SET expires = datetime('now', '-5 seconds')"
    local before
    before="$(renewals "$provider")"
    refused git -C one push --quiet origin HEAD:other
    commit_and_push one "Second"
    expect "the commit after that" "$(git -C "$work/git/one.git" log -1 --format=%s main)" Second
    expect "the renewals" "$(($(renewals "$provider") - before))" 1
    token="$(identityctl token --profile work)"
    expect "the token now" "$(seen token service=git status=200 | tail -n 1)" "$(digest "$token")"
}

test_curl() {
    local answer
    answer="$(identityctl token --profile work | sed 's/.*/oauth2-bearer = "&"/' |
        curl --silent --fail --config - "https://localhost:$port/person")"
    expect "the person" "$answer" '{"sub": "1"}'
    expect "what curl sent" "$(seen token service=person status=200 scheme=bearer)" "$(digest "$token")"
}

test_skopeo() {
    start_registry
    "$integrations/make-image" image
    local image="localhost:$registry_port/team/thing:1" copy=(skopeo --insecure-policy copy --quiet)
    echo '{}' >nobody.json
    refused "${copy[@]}" --authfile nobody.json oci:image:1 "docker://$image"
    expect_words "the refusal" "$said" unauthorized
    expect "what came without a helper" "$(seen token service=registry-token status=200)" ""
    forget
    printf '{"credHelpers": {"localhost:%s": "identityctl"}}\n' "$registry_port" >auth.json
    "${copy[@]}" --authfile auth.json oci:image:1 "docker://$image"
    "${copy[@]}" --authfile auth.json "docker://$image" oci:fetched:1
    expect "the image" "$(ls fetched/blobs/sha256)" "$(ls image/blobs/sha256)"
    expect "what skopeo sent" "$(seen token service=registry-token status=200 scheme=basic user=oauth2)" "$(digest "$token")"
}

# write_kubeconfig VERSION [LINE...]: has the helper found by the cluster's address.
write_kubeconfig() {
    local version="$1"
    shift
    {
        printf '%s\n' "apiVersion: v1" "kind: Config" "current-context: here" \
            "contexts: [{name: here, context: {cluster: here, user: me}}]" \
            "clusters: [{name: here, cluster: {server: 'https://localhost:$port/cluster', certificate-authority: '$ca'}}]" \
            "users:" "- name: me" "  user:" "    exec:" "      apiVersion: client.authentication.k8s.io/$version" \
            "      provideClusterInfo: true" "      command: identityctl" "      args: [helper, kubectl]"
        [ $# = 0 ] || printf '      %s\n' "$@"
    } >kubeconfig
}

test_kubectl() {
    local id_token version versions=(v1beta1) minor
    id_token="$(identityctl token --profile work --id-token)"
    minor="$(kubectl version --client --output=json | sed -nE 's/.*"minor": "([0-9]+).*/\1/p' | head -n 1)"
    if [ "$minor" -ge 22 ]; then versions+=(v1); fi
    for version in "${versions[@]}"; do
        forget
        if [ "$version" = v1 ]; then write_kubeconfig v1 "interactiveMode: Never"; else write_kubeconfig v1beta1; fi
        expect "the object" "$(kubectl --kubeconfig kubeconfig get configmaps --output=name)" configmap/person-1
        expect "what kubectl sent" "$(seen token service=cluster scheme=bearer)" "$(digest "$id_token")"
    done
    # The form of v1, also where this kubectl does not know it.
    local answer
    answer="$(env KUBERNETES_EXEC_INFO="$(exec_info "https://localhost:$port/cluster")" identityctl helper kubectl)"
    /usr/bin/python3 -c '
import datetime, json, sys
answer = json.loads(sys.argv[1])
assert set(answer) == {"apiVersion", "kind", "status"}, answer.keys()
assert answer["apiVersion"] == "client.authentication.k8s.io/v1" and answer["kind"] == "ExecCredential"
assert set(answer["status"]) == {"token", "expirationTimestamp"} and answer["status"]["token"] == sys.argv[2]
end = datetime.datetime.strptime(answer["status"]["expirationTimestamp"], "%Y-%m-%dT%H:%M:%SZ")
assert end > datetime.datetime.utcnow()' "$answer" "$id_token" || fail "this is no ExecCredential of v1"
}

test_cargo() {
    local version
    version="$(cargo --version 2>/dev/null | sed -nE 's/^cargo 1\.([0-9]+).*/\1/p' || true)"
    if [ "${version:-0}" -lt 74 ]; then
        echo "    left out: there is no cargo of version 1.74 or later"
        return
    fi
    export CARGO_HOME="$work/cargo"
    mkdir -p "$CARGO_HOME" project/src
    cat >"$CARGO_HOME/config.toml" <<CONFIG
[registries.work]
index = "sparse+https://localhost:$port/cargo/index/"
credential-provider = ["cargo-credential-identityctl"]
[registries.elsewhere]
index = "sparse+https://127.0.0.1:$port/cargo/index/"
credential-provider = ["cargo-credential-identityctl"]
[http]
cainfo = "$ca"
CONFIG
    printf '[package]\nname = "p"\nversion = "1.0.0"\nedition = "2021"\n[dependencies]\n' >project/Cargo.toml
    echo 'private-thing = { version = "1", registry = "work" }' >>project/Cargo.toml
    touch project/src/lib.rs
    cargo fetch --quiet --manifest-path project/Cargo.toml
    expect "the crate" "$(cat "$CARGO_HOME"/registry/src/*/private-thing-1.0.0/src/lib.rs)" 'pub const ANSWER: u32 = 42;'
    expect "what cargo sent" "$(seen token service=cargo status=200 scheme=bearer)" "$(digest "$token")"
    sed -i 's/"work"/"elsewhere"/' project/Cargo.toml
    rm project/Cargo.lock
    refused cargo fetch --quiet --manifest-path project/Cargo.toml
    expect "what another registry got" "$(seen token host=127.*)" null
}

# test_python PROGRAM OPTION... : installs the package from the index, and not from the same index under another name.
test_python() {
    local name="$1" index="oauth2@localhost:$port/python/simple/"
    shift
    env PATH="$work/keyring:$PATH" "$@" --target "$name-target" --index-url "https://$index" private-thing
    expect "the package" "$(cat "$name-target/private_thing.py")" "ANSWER = 42"
    expect "what $name sent" "$(seen token service=python status=200)" "$(digest "$token")"
    expect "the username" "$(seen user service=python status=200)" oauth2
    refused env PATH="$work/keyring:$PATH" "$@" --target other --index-url "https://${index/localhost/127.0.0.1}" private-thing
    expect "what another index got" "$(seen token host=127.*)" null
}

test_pip() {
    test_python pip pip install --quiet --no-input --no-cache-dir --no-deps --disable-pip-version-check \
        --keyring-provider subprocess
}

test_uv() {
    local install=(pip install --quiet --no-cache --no-deps --python /usr/bin/python3)
    test_python uv uv "${install[@]}" --keyring-provider subprocess

    # Without a username, for an index that is marked so.
    forget
    printf '%s\n' 'keyring-provider = "subprocess"' '[[index]]' "url = 'https://localhost:$port/python/simple/'" \
        'default = true' 'authenticate = "always"' >uv.toml
    env -u UV_NO_CONFIG PATH="$work/keyring:$PATH" uv --config-file uv.toml "${install[@]}" --target always private-thing
    expect "the package" "$(cat always/private_thing.py)" "ANSWER = 42"
    expect "what uv sent" "$(seen token service=python status=200)" "$(digest "$token")"
}

test_aws() {
    mkdir -p .aws
    cat >.aws/config <<CONFIG
[profile work]
region = eu-central-1
credential_process = identityctl helper aws --profile work
[profile other]
region = eu-central-1
credential_process = identityctl helper aws --profile work --role-arn ${role}2
CONFIG
    local who=(aws --ca-bundle "$ca" --endpoint-url "https://localhost:$port/sts/" sts get-caller-identity --output text
        --query Arn)
    expect "the person at AWS" "$("${who[@]}" --profile work)" arn:aws:sts::123456789012:assumed-role/deploy/identityctl
    expect "what AWS got" "$(seen token service=sts method=POST scheme=null)" \
        "$(digest "$(identityctl token --profile work --id-token)")"
    refused "${who[@]}" --profile other
    expect_words "the refusal" "$said" "trust policy"
    expect_words "the refusal" "$said" AccessDenied
}

test_msmtp() {
    local mechanism helper
    for mechanism in xoauth2 oauthbearer; do
        forget
        write_msmtprc "$mechanism"
        printf 'Subject: x\n\nHello\n' | msmtp --file=msmtprc bob@example.test
        expect "the mechanism" "$(seen event status=235)" "${mechanism^^}"
        expect "what msmtp sent" "$(seen token status=235)" "$(digest "$token")"
        expect "the sender" "$(seen person event=message)" 1
        # What the helper makes is what msmtp makes.
        helper=(identityctl helper "$mechanism" --profile work --user alice@example.test)
        if [ "$mechanism" = oauthbearer ]; then helper+=(--host localhost --port "$mail_port"); fi
        expect "the helper's response" "$(digest "$("${helper[@]}")")" "$(seen response status=235)"
    done
}

# set_up_containers: has the registry's tokens given by the helper, and an image there.
set_up_containers() {
    image="localhost:$registry_port/team/thing:1"
    build=(buildah --root "$work/buildah/root" --runroot "$work/buildah/run" --storage-driver vfs)
    pod=(podman --root "$work/podman/root" --runroot "$work/podman/run" --tmpdir "$work/podman/tmp" --storage-driver vfs
        --cgroup-manager cgroupfs --events-backend none)
    [ -e "$work/registry/storage" ] || start_registry
    [ -e image ] || "$integrations/make-image" image
    identityctl integrate containers --profile work --serves "https://localhost:$registry_port" 2>integrate.log
    expect "the file" "$(tr -d ' \t\n' <.config/containers/auth.json)" \
        "{\"credHelpers\":{\"localhost:$registry_port\":\"identityctl\"}}"
    skopeo --insecure-policy copy --quiet oci:image:1 "docker://$image"
    forget
}

# asked_registry PROGRAM: the registry gave a token for the person's.
asked_registry() {
    expect "what $1 sent" "$(seen token service=registry-token status=200 scheme=basic user=oauth2)" "$(digest "$token")"
    forget
}

test_buildah() {
    local image build pod container
    set_up_containers
    container="$("${build[@]}" from scratch)"
    "${build[@]}" commit --quiet "$container" "$image" >/dev/null
    "${build[@]}" push --quiet "$image" "docker://$image"
    asked_registry buildah
}

test_podman() {
    local image build pod
    set_up_containers
    "${pod[@]}" pull --quiet "$image" >/dev/null
    asked_registry podman
    skopeo inspect --raw "docker://$image" >/dev/null
    asked_registry skopeo

    # By registries.conf, which has the helper asked for each registry.
    rm .config/containers/auth.json
    printf 'credential-helpers = ["containers-auth.json", "identityctl"]\n' >registries.conf
    env CONTAINERS_REGISTRIES_CONF="$PWD/registries.conf" "${pod[@]}" pull --quiet "$image" >/dev/null
    asked_registry podman
    skopeo --registries-conf registries.conf inspect --raw "docker://$image" >/dev/null
    asked_registry skopeo
    refused skopeo --registries-conf registries.conf inspect --raw "docker://${image/localhost/127.0.0.1}"
    expect "what another registry's service got" "$(seen token)" null
}

write_rclone_conf() {
    printf '%s\n' "[far]" "type = webdav" "url = https://localhost:$port/webdav/" "vendor = other" "$(integrated rclone)" \
        >rclone.conf
}

test_rclone() {
    local far=(rclone --config rclone.conf --ca-cert "$ca") web_port
    write_rclone_conf
    expect "the file" "$("${far[@]}" cat far:note.txt)" "Kept by WebDAV"
    expect "what rclone sent" "$(seen token service=webdav status=200)" "$(digest "$token")"

    echo "    a token that ends while rclone runs"
    web_port="$(free_ports 1)"
    mkdir -p "$work/rclone"
    start_server "$work/rclone" "$web_port" "${far[@]}" serve http far: --addr "127.0.0.1:$web_port"
    expect "the file" "$(curl --silent "http://127.0.0.1:$web_port/note.txt")" "Kept by WebDAV"
    end_token
    forget
    expect "the file" "$(curl --silent "http://127.0.0.1:$web_port/note.txt")" "Kept by WebDAV"
    token="$(identityctl token --profile work)"
    expect "what the server answered" "$(seen status | paste -sd ' ')" "401 200"
    expect "what rclone sent" "$(seen token service=webdav status=200)" "$(digest "$token")"
}

# write_google_json PROFILE MOUNT: what Google's library reads to get tokens of Google for those of the profile.
write_google_json() {
    cat >"google-$1.json" <<CONFIG
{"type": "external_account", "audience": "//iam.googleapis.com/projects/1/locations/global/workloadIdentityPools/p/providers/p",
 "subject_token_type": "urn:ietf:params:oauth:token-type:id_token", "token_url": "https://localhost:$port$2/google/token",
 "credential_source": {"executable": {"command": "identityctl helper google --profile $1", "timeout_millis": 60000}}}
CONFIG
}

# ask_google FILE: prints the token of Google that a request has, at each line of standard input.
ask_google() {
    env GOOGLE_EXTERNAL_ACCOUNT_ALLOW_EXECUTABLES=1 "REQUESTS_CA_BUNDLE=$ca" python3 -B -c '
import sys, google.auth.pluggable, google.auth.transport.requests
credentials = google.auth.pluggable.Credentials.from_file(sys.argv[1], scopes=["https://www.googleapis.com/auth/cloud-platform"])
for line in sys.stdin:
    headers = {}
    credentials.before_request(google.auth.transport.requests.Request(), "GET", "https://storage.googleapis.com/", headers)
    print(headers["authorization"], flush=True)' "$1"
}

# google_refused FILE WORDS: the library gets no token, and says why.
google_refused() {
    if said="$(ask_google "$1" 2>&1 <<<"")"; then fail "this did not fail: $1 $said"; fi
    expect_words "what the program shows" "$said" "$2"
}

test_google() {
    write_google_json work ""
    expect "the token" "$(ask_google google-work.json <<<"")" "Bearer given-by-google"
    expect "what Google got" "$(seen token service=google status=200)" \
        "$(digest "$(identityctl token --profile work --id-token)")"
    sed "s|--profile work|--profile work --cache file:$work/nothing|" google-work.json >signed-out.json
    google_refused signed-out.json "identityctl login"
    write_google_json brief ""  # the token of another provider, which this service of Google's does not know
    google_refused google-brief.json "The ID token is not good"
    sed 's|id_token"|jwt"|' google-work.json >other.json
    google_refused other.json subject_token_type
}
