# Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0
#
# For the scripts in the folder above.

# symbol_graphs MODULE DIRECTORY [OPTION...]: writes down what a module of the debug build offers, as the compiler sees it.
symbol_graphs() {
    local log="$2/log"
    : "${debug_build:="$(swift build --show-bin-path)"}"
    swift symbolgraph-extract -module-name "$1" -I "$debug_build/Modules" -I "$debug_build" -I Sources/CCurl/include \
        -I Sources/CGIO/include -I Sources/CLibSecret/include -I Sources/CSystemSupport/include \
        -target "$(uname -m)-unknown-linux-gnu" -minimum-access-level public "${@:3}" \
        -output-dir "$2" >"$log" 2>&1 || { cat "$log" >&2; return 1; }
    rm "$log"
}
