# Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# The checks with mailboxes: dovecot, which asks the provider about each token. To be sourced by Scripts/test-integrations.

# Starts dovecot on $imap_port, once. Its mailboxes are out of $work, since no mailbox may belong to root.
start_dovecot() {
    local owner group
    [ ! -e "$work/dovecot/config" ] || return 0
    owner="$(id -un)" group="$(id -gn)"
    mailboxes="$(mktemp -d)"
    if [ "$owner" = root ]; then
        owner=mail group=mail
        chown mail:mail "$mailboxes"
    fi
    chmod 0755 "$mailboxes"
    install -m 0644 "$ca" "$mailboxes/ca.pem"  # dovecot asks as a user of its own
    imap_port="$(free_ports 1)"
    mkdir -p "$work/dovecot"
    cat >"$work/dovecot/oauth2" <<OAUTH
introspection_url = $(setting "$provider/env" ISSUER)/userinfo/
introspection_mode = auth
username_attribute = email
tls_ca_cert_file = $mailboxes/ca.pem
OAUTH
    cat >"$work/dovecot/config" <<CONFIG
base_dir = $mailboxes/run
state_dir = $mailboxes/run
log_path = $work/dovecot/log
protocols = imap
listen = 127.0.0.1
first_valid_uid = 1
ssl = required
ssl_cert = <$work/ca/server.pem
ssl_key = <$work/ca/server.key
auth_mechanisms = xoauth2 oauthbearer
mail_location = maildir:$mailboxes/%u
passdb {
  driver = oauth2
  mechanisms = xoauth2 oauthbearer
  args = $work/dovecot/oauth2
}
userdb {
  driver = static
  args = uid=$owner gid=$group home=$mailboxes/%u
}
namespace inbox {
  inbox = yes
  mailbox Sent {
    auto = create
  }
}
service imap-login {
  inet_listener imap {
    port = 0
  }
  inet_listener imaps {
    port = $imap_port
    ssl = yes
  }
}
CONFIG
    if [ "$(id -u)" != 0 ]; then
        printf '%s\n' "default_internal_user = $owner" "default_internal_group = $group" "default_login_user = $owner" \
            "service anvil {" "  chroot =" "}" "service imap-login {" "  chroot =" "}" >>"$work/dovecot/config"
    fi
    start_server "$work/dovecot" "$imap_port" dovecot -F -c "$work/dovecot/config"
}

# write_mbsyncrc PROFILE
write_mbsyncrc() {
    rm -rf mail
    mkdir -p mail
    cat >mbsyncrc <<CONFIG
IMAPAccount me
Host localhost
Port $imap_port
User alice@example.test
SSLType IMAPS
CertificateFile $ca
AuthMechs XOAUTH2
PassCmd "identityctl token --profile $1"

IMAPStore far
Account me

MaildirStore near
Path $HOME/mail/
Inbox $HOME/mail/inbox

Channel all
Far :far:
Near :near:
Patterns INBOX Sent
Create Near
SyncState $HOME/mail/state-
CONFIG
}

# send_and_keep PROGRAM MECHANISM: sends a message by SMTP, and keeps a copy in the mailbox Sent by IMAP, if it can.
send_and_keep() {
    local command='identityctl token --profile work' subject="By $1 with $2"
    printf '%s\n' "set imap_authenticators = \"$2\"" "set smtp_authenticators = \"$2\"" \
        "set imap_oauth_refresh_command = \"$command\"" "set smtp_oauth_refresh_command = \"$command\"" \
        "set ssl_ca_certificates_file = \"$ca\"" "set from = alice@example.test" \
        "set smtp_url = smtps://alice@example.test@localhost:$mail_port" \
        "set imap_user = alice@example.test" "set folder = imaps://localhost:$imap_port" "set record = +Sent" \
        "set copy = yes" >muttrc
    forget
    printf 'Hello\n' | timeout 30 "$1" -n -F muttrc -s "$subject" bob@example.test
    expect "the mechanism" "$(seen event status=235)" "${2^^}"
    expect "what $1 sent" "$(seen token status=235)" "$(digest "$token")"
    # NeoMutt keeps no copy by IMAP without a terminal.
    [ "$1" = mutt ] || return 0
    grep --quiet --recursive "Subject: $subject" "$mailboxes"/*/.Sent || fail "$1 kept no copy by IMAP"
}

test_mutt() {
    local mechanism
    start_dovecot
    for mechanism in oauthbearer xoauth2; do send_and_keep mutt "$mechanism"; done
}

test_neomutt() {
    local mechanism
    start_dovecot
    for mechanism in oauthbearer xoauth2; do send_and_keep neomutt "$mechanism"; done
}

test_mbsync() {
    local count
    start_dovecot
    write_mbsyncrc work
    timeout 30 mbsync --config mbsyncrc --all
    [ -d mail/inbox/new ] && [ -d mail/Sent ] || fail "mbsync fetched no mailbox"

    echo "    a refused token, and a person who is signed out"
    sed 's/^PassCmd.*/PassCmd "echo other"/' mbsyncrc >refused
    refused mbsync --config refused --all
    sed 's/--profile work/--profile none-here/' mbsyncrc >unknown
    refused mbsync --config unknown --all
    sed "s|^PassCmd.*|PassCmd \"identityctl token --profile work --cache file:$work/nothing\"|" mbsyncrc >signed-out
    refused mbsync --config signed-out --all
    expect_words "what mbsync shows" "$said" "identityctl login"

    echo "    twenty at once"
    for count in {1..20}; do
        sed "s|mail/|mail-$count/|" mbsyncrc >"mbsyncrc-$count"
        mkdir -p "mail-$count"
        timeout 60 mbsync --config "mbsyncrc-$count" --all >"mbsync-$count.log" 2>&1 &
    done
    wait
    for count in {1..20}; do [ -d "mail-$count/inbox/new" ] || fail "mbsync $count: $(cat "mbsync-$count.log")"; done
}
