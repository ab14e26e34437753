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

# With IDENTITY_LEAN nothing that is built has debug information, and the index that finds the tests has nothing else in it:
# that takes less time and room. What is built for debugging is compiled a module at a time, finds its types without names,
# and has its cryptography optimized: it is made once and runs a thousand tests.
if [ -n "${IDENTITY_LEAN:-}" ]; then
    lean=(-debug-info-format none -Xswiftc -index-ignore-system-modules
        -Xswiftc -Xfrontend -Xswiftc -index-ignore-clang-modules)
    debugging=(-Xcc -O1 -Xswiftc -whole-module-optimization -Xswiftc -num-threads -Xswiftc 1 -Xswiftc -no-emit-module-separately-wmo
        -Xswiftc -Xfrontend -Xswiftc -disable-concrete-type-metadata-mangled-name-accessors)
    swift() {
        case "$1 $*" in
            build*' release'* | run*' release'* | test*' release'*) command swift "$1" "${lean[@]}" "${@:2}" ;;
            build* | run* | test* | package*) command swift "$1" "${lean[@]}" "${debugging[@]}" "${@:2}" ;;
            *) command swift "$@" ;;
        esac
    }
fi

# Where builds with the trait WebView rest: with IDENTITY_WEB_VIEW it is on everywhere, and they are one with the others.
web_view_build="$PWD/.build-webview"
if [ -n "${IDENTITY_WEB_VIEW:-}" ]; then web_view_build="$PWD/.build"; fi

# no_more_arguments ARGUMENT...: ends if there are any.
no_more_arguments() { [ "$#" = 0 ] || wrong_usage "unknown argument: $1"; }

for argument in "$@"; do
    case "$argument" in
        -h | --help) usage; exit ;;
    esac
done
unset argument
