# Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# The checks of what programs do where a token ends: by its time, by the server's word, or by the person's. To be sourced by
# Scripts/test-integrations.

# What a program shows if the server refuses its token.
declare -A refusals=(
    [aerc]=invalid_token [buildah]=unauthorized [mbsync]="wants more steps" [msmtp]="The token is not good"
    [mutt]="SASL authentication failed" [mutt-read]="authentication failed" [neomutt]="No authenticators available"
    [neomutt-read]="authentication failed" [podman]=unauthorized [rclone]=401 [skopeo]=unauthorized
)

# shows_mail PATTERN KEYS COMMAND...: whether the program shows the message on a terminal; at the pattern it gets the keys.
shows_mail() {
    local screen
    screen="$("$integrations/on-terminal" "$1" "$2" -- "${@:3}")" || true
    tr -s ' ' <<<"$screen"
    [[ "$screen" == *Unmistakable* ]]
}

# use_PROGRAM NUMBER: has the program use a token once, beside others with other numbers.
use_aerc() { shows_mail 'Unmistakable|invalid_token|Disconn' $':quit\r' aerc; }
use_buildah() { timeout 60 "${build[@]}" pull --quiet --policy always "$image"; }
use_mbsync() {
    mkdir -p "mail-$1"
    sed "s|$HOME/mail|&-$1|" mbsyncrc >"mbsyncrc-$1"
    timeout "$patience" mbsync --config "mbsyncrc-$1" --all && [ -d "mail-$1/inbox/cur" ]
}
use_msmtp() { printf 'Subject: x\n\nHello\n' | timeout 60 msmtp --file=msmtprc bob@example.test; }
use_mutt() { printf 'Hello\n' | timeout 60 mutt -n -F muttrc -s "Number $1" bob@example.test; }
use_neomutt() { printf 'Hello\n' | timeout 60 neomutt -n -F neomuttrc -s "Number $1" bob@example.test; }
use_mutt-read() { shows_mail Unmistakable x mutt -n -F muttrc -f "imaps://localhost:$imap_port/INBOX"; }
use_neomutt-read() { shows_mail Unmistakable x neomutt -n -F neomuttrc -f "imaps://localhost:$imap_port/INBOX"; }
use_podman() { timeout 60 "${pod[@]}" pull --quiet "$image"; }
use_rclone() {
    timeout 60 rclone --config rclone.conf --ca-cert "$ca" --retries 1 --low-level-retries 2 cat far:note.txt
}
use_skopeo() { timeout 60 skopeo inspect --raw "docker://$image"; }

# use_at_once PROGRAM:NUMBER...: has them all use a token at the same time. What one shows, with its status at the end, is in
# the file PROGRAM:NUMBER.
use_at_once() {
    local use
    for use in "$@"; do
        {
            local status=0
            "use_${use%:*}" "${use#*:}" </dev/null || status=$?
            echo "status $status"
        } >"$use" 2>&1 &
    done
    wait
}

# expect_end FILE WORDS: the program's use ended with these words.
expect_end() { expect_words "${1%:*}" "$(cat "$1")" "$2"; }

test_endings() {
    local program image build pod before count patience=60 uses=()
    start_dovecot
    set_up_containers
    write_mbsyncrc
    write_msmtprc
    write_rclone_conf
    write_aerc_settings
    for program in mutt neomutt; do write_muttrc "$program"; done
    for program in "${!refusals[@]}"; do uses+=("$program:0"); done

    echo "    a token that has ended: each program twenty times at once"
    use_at_once "${uses[@]}"
    for program in "${uses[@]}"; do expect_end "$program" "status 0"; done
    for program in "${!refusals[@]}"; do
        end_token
        before="$(renewals "$provider")"
        forget
        use_at_once "$program:"{1..20}
        for count in {1..20}; do expect_end "$program:$count" "status 0"; done
        expect "the requests to the provider for $program" "$(($(renewals "$provider") - before))" 1
        token="$(identityctl token --profile work)"
        case "$program" in
            aerc | mbsync | *-read) ;;  # dovecot asks the provider itself
            *) expect "what $program sent" "$(seen token status='200|235')" "$(digest "$token")" ;;
        esac
    done

    echo "    a token that the provider took back"
    ask_database "$provider" "UPDATE oauth2_provider_accesstoken SET expires = datetime('now', '-5 seconds')"
    patience=5  # after a refusal, mbsync waits until the server ends the connection
    use_at_once "${uses[@]}"
    patience=60
    for program in "${!refusals[@]}"; do
        expect_end "$program:0" "${refusals[$program]}"
        [[ "$(tail -n 1 "$program:0")" != "status 0" ]] || fail "$program took a refused token for good"
    done
    identityctl token --profile work --force-refresh >/dev/null
    use_at_once "${uses[@]}"
    for program in "${uses[@]}"; do expect_end "$program" "status 0"; done

    echo "    a person who is signed out"
    identityctl logout --profile work
    use_at_once "${uses[@]}"
    for program in "${!refusals[@]}"; do
        # aerc does not show what the command says on standard error, but doctor does.
        if [ "$program" = aerc ]; then
            expect_end aerc:0 "failed to read password: exit status 2"
            expect_words "what doctor says" "$(identityctl doctor 2>&1 | grep -A 1 ^aerc)" "identityctl login --profile work"
        else
            expect_end "$program:0" "identityctl login --profile work"
        fi
        [[ "$(tail -n 1 "$program:0")" != "status 0" ]] || fail "$program went on without a token"
    done
    sign_in_again work "$provider"
    token="$(identityctl token --profile work)"
}
