# Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# The checks with mailboxes: dovecot, which asks the provider about each token. To be sourced by Scripts/test-integrations.

# Starts dovecot on $imap_port, once, with one message. Its mailboxes are out of $work, since no mailbox may belong to root.
start_dovecot() {
    local owner group issuer
    [ ! -e "$work/dovecot/config" ] || return 0
    owner="$(id -un)" group="$(id -gn)"
    mailboxes="$(mktemp -d)"
    mkdir -p "$mailboxes/alice@example.test/"{cur,new,tmp}
    printf '%s\n' "From: bob@example.test" "To: alice@example.test" "Subject: Unmistakable" "" "Bonjour" \
        >"$mailboxes/alice@example.test/new/1.bob"
    if [ "$owner" = root ]; then
        owner=mail group=mail
        chown -R mail:mail "$mailboxes"
    fi
    chmod 0755 "$mailboxes"
    install -m 0644 "$ca" "$mailboxes/ca.pem"  # dovecot asks as a user of its own
    imap_port="$(free_ports 1)"
    mkdir -p "$work/dovecot"
    issuer="$(setting "$provider/env" ISSUER)"
    # It asks by introspection (RFC 7662), with a name and a secret of its own.
    cat >"$work/dovecot/oauth2" <<OAUTH
introspection_url = https://swift-introspection:introspection-secret@${issuer#https://}/introspect/
introspection_mode = post
force_introspection = yes
active_attribute = active
active_value = true
username_attribute = username
username_format = %Ln
max_parallel_connections = 4
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
auth_failure_delay = 0
mail_max_userip_connections = 100
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
service anvil {
  unix_listener anvil-auth-penalty {
    mode = 0
  }
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

# integrated PROGRAM [MECHANISM]: the lines that identityctl shows for it, with one mechanism in place of theirs.
integrated() {
    identityctl integrate "$1" --profile work 2>&1 | sed "1d; \$d; s/oauthbearer\(:xoauth2\)\?/${2:-&}/"
}

# write_msmtprc [MECHANISM]
write_msmtprc() {
    printf '%s\n' "account default" "host localhost" "port $mail_port" "tls on" "tls_starttls off" "tls_trust_file $ca" \
        "user alice@example.test" "from alice@example.test" "$(integrated msmtp "$@")" >msmtprc
    chmod 600 msmtprc
}

# write_muttrc PROGRAM [MECHANISM]: for mutt or neomutt.
write_muttrc() {
    integrated "$@" >"$1rc"
    printf '%s\n' "set ssl_ca_certificates_file = \"$ca\"" "set from = alice@example.test" \
        "set smtp_url = smtps://alice@example.test@localhost:$mail_port" \
        "set imap_user = alice@example.test" "set folder = imaps://localhost:$imap_port" "set record = +Sent" \
        "set copy = yes" >>"$1rc"
}

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
$(integrated mbsync)

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

# write_aerc_settings [MECHANISM]
write_aerc_settings() {
    mkdir -p .config/aerc
    {
        printf '%s\n' "[me]" "from = Alice <alice@example.test>"
        integrated aerc "$@" | sed "s/me@IMAP/alice%40example.test@localhost:$imap_port/
            s/me@SMTP/alice%40example.test@localhost:$mail_port/"
    } >.config/aerc/accounts.conf
    chmod 600 .config/aerc/accounts.conf
}

# reads_mail KEYS COMMAND...: a person at a terminal opens the message, and types the keys.
reads_mail() {
    local keys="$1"
    shift
    "$integrations/on-terminal" Unmistakable $'\r' "Bonjour" "$keys" -- "$@" >screen ||
        fail "$1 shows no message: $(tr -s ' ' <screen)"
}

# test_muttlike PROGRAM: sends a message by SMTP, keeps a copy in the mailbox Sent by IMAP if it can, and reads one, by each
# mechanism.
test_muttlike() {
    local mechanism subject
    start_dovecot
    for mechanism in oauthbearer xoauth2; do
        subject="By $1 with $mechanism"
        write_muttrc "$1" "$mechanism"
        forget
        printf 'Hello\n' | timeout 30 "$1" -n -F "$1rc" -s "$subject" bob@example.test
        expect "the mechanism" "$(seen event status=235)" "${mechanism^^}"
        expect "what $1 sent" "$(seen token status=235)" "$(digest "$token")"
        # NeoMutt keeps no copy by IMAP without a terminal.
        if [ "$1" = mutt ]; then
            grep --quiet --recursive "Subject: $subject" "$mailboxes"/*/.Sent || fail "$1 kept no copy by IMAP"
        fi
        reads_mail qx "$1" -n -F "$1rc" -f "imaps://localhost:$imap_port/INBOX"
    done
}

test_mutt() { test_muttlike mutt; }
test_neomutt() { test_muttlike neomutt; }

test_mbsync() {
    start_dovecot
    write_mbsyncrc
    timeout 30 mbsync --config mbsyncrc --all
    grep --quiet --recursive "Bonjour" mail/inbox || fail "mbsync fetched no mailbox"
    [ -d mail/Sent ] || fail "mbsync fetched one mailbox alone"
}

test_aerc() {
    local mechanism
    start_dovecot
    for mechanism in oauthbearer xoauth2; do
        write_aerc_settings "$mechanism"
        reads_mail $':quit\r' aerc
        expect_words "dovecot's log" "$(grep "method=" "$work/dovecot/log" | tail -n 1)" "method=${mechanism^^}"
    done
}
