# Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# The checks with tokens that are long: how long a token a mail program takes, by each mechanism. To be sourced by
# Scripts/test-integrations.

# The length, in bytes, that is taken at least. dovecot takes about 6,000, so that programs that read mail take no more.
declare -A lengths=(
    ["aerc oauthbearer"]=6000 ["aerc xoauth2"]=6000 ["mbsync xoauth2"]=6000
    ["msmtp oauthbearer"]=2900 ["msmtp xoauth2"]=2900 ["mutt oauthbearer"]=8000 ["mutt xoauth2"]=8000
    ["neomutt oauthbearer"]=510 ["neomutt xoauth2"]=4094 ["neomutt oauthbearer:xoauth2"]=4094
)

test_long() {
    local mechanism bytes way program patience=60 uses
    local -A taken=()
    start_dovecot
    write_mbsyncrc
    for mechanism in oauthbearer xoauth2 oauthbearer:xoauth2; do
        uses=()
        for way in "${!lengths[@]}"; do
            if [ "${way#* }" = "$mechanism" ]; then uses+=("${way% *}:0"); fi
        done
        write_msmtprc "$mechanism"
        write_aerc_settings "$mechanism"
        for program in mutt neomutt; do write_muttrc "$program" "$mechanism"; done
        echo "set copy = no" >>muttrc
        for bytes in 510 2900 4094 6000 8000; do
            "$integrations/change-token" "$provider" "$work/tokens-work" "$bytes"
            use_at_once "${uses[@]}"
            for program in "${uses[@]}"; do
                if [ "$(tail -n 1 "$program")" = "status 0" ]; then taken["${program%:0} $mechanism"]="$bytes"; fi
            done
        done
    done
    for way in "${!lengths[@]}"; do
        printf '    %s: %s bytes\n' "$way" "${taken[$way]:-0}"
        [ "${taken[$way]:-0}" -ge "${lengths[$way]}" ] || fail "$way took no token of ${lengths[$way]} bytes"
    done
    token="$(identityctl token --profile work --force-refresh)"
}
