# Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0
#
# For the scripts in the folder above, which are in the package's folder when they read this file: with --help or -h among
# their arguments they print the comment at their head, and end.

usage() { awk 'NR > 3 { if (!/^#/) exit; sub(/^# ?/, ""); print }' "Scripts/$(basename "$0")"; }

# wrong_usage MESSAGE...: ends with what is wrong and with the usage.
wrong_usage() {
    printf 'ERROR: %s\n\n' "$*" >&2
    usage >&2
    exit 64
}

# With IDENTITY_LEAN nothing that is built has debug information, which takes less time and room.
if [ -n "${IDENTITY_LEAN:-}" ]; then
    swift() {
        case "$1" in
            build | run | test | package) command swift "$1" -debug-info-format none "${@:2}" ;;
            *) command swift "$@" ;;
        esac
    }
fi

# no_more_arguments ARGUMENT...: ends if there are any.
no_more_arguments() { [ "$#" = 0 ] || wrong_usage "unknown argument: $1"; }

for argument in "$@"; do
    case "$argument" in
        -h | --help) usage; exit ;;
    esac
done
unset argument
