# Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0
#
# What the scripts share that make a bare machine and run programs in it. To be sourced.

not_run() {
    echo "NOT RUN: Scripts/$(basename "$0") needs $1"
    exit
}

# Ends with NOT RUN where no bare machine can be made.
need_bare_machine() {
    [ "$UID" = 0 ] || not_run root
    command -v debootstrap >/dev/null || { apt-get update -q && apt-get install -q -y debootstrap; } >/dev/null 2>&1 ||
        not_run debootstrap
    unshare --mount --pid --fork true 2>/dev/null || not_run namespaces
}

# What of the environment says how packages are reached.
kept=()
for name in http_proxy https_proxy no_proxy SSL_CERT_FILE PIP_CERT PIP_DEFAULT_TIMEOUT PIP_FIND_LINKS PIP_INDEX_URL; do
    if [ -n "${!name:-}" ]; then kept+=("$name=${!name}"); fi
done

# make_base SUITE BASE LOG [PACKAGE...]: a bare machine with an ordinary user, newcomer. SUITE is Debian's bookworm or trixie, or
# one of Ubuntu.
make_base() {
    local suite="$1" base="$2" log="$3" options=() mirror script=() file
    shift 3
    if [[ "$suite" =~ ^(bookworm|trixie)$ ]]; then
        mirror="$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' 2>/dev/null | head -1)"
        mirror="${mirror:-http://deb.debian.org/debian}"
    else
        mirror=http://archive.ubuntu.com/ubuntu
        options=(--components=main,universe)
        script=(/usr/share/debootstrap/scripts/gutsy)  # of all suites of Ubuntu; an older debootstrap does not know noble
    fi
    if [ $# -gt 0 ]; then options+=(--include="$(IFS=, && echo "$*")"); fi
    if ! debootstrap --variant=minbase "${options[@]}" "$suite" "$base" "$mirror" "${script[@]}" >"$log" 2>&1; then
        tail -20 "$log" >&2
        echo "NOT RUN: Scripts/$(basename "$0") could not get the packages of $suite"
        exit 0
    fi
    # How this machine reaches the packages of Debian, Python and Swift.
    for file in /etc/resolv.conf /etc/hosts /etc/pip.conf /etc/gitconfig; do
        if [ -e "$file" ]; then cp -L "$file" "$base$file"; fi
    done
    if [ -d /usr/local/share/ca-certificates ]; then cp -r /usr/local/share/ca-certificates "$base/usr/local/share/"; fi
    if [[ "$suite" =~ ^(bookworm|trixie)$ ]]; then echo "deb $mirror $suite main" >"$base/etc/apt/sources.list"; fi
    echo force-unsafe-io >"$base/etc/dpkg/dpkg.cfg.d/unsafe-io"  # it need not survive a power cut
    chroot "$base" useradd --create-home --shell /bin/bash newcomer
}

# on_machine ROOT [FOLDER...] -- COMMAND...: runs it there as root, in a mount and a pid namespace of its own, with these
# folders of this machine at the same places. ROOT is its root: in one that was changed by chroot a browser could not make
# its sandbox.
on_machine() {
    local root="$1" folders=()
    shift
    while [ "$1" != -- ]; do
        folders+=("$1")
        shift
    done
    shift
    unshare --mount --pid --fork --kill-child "$BASH" -euc '
        root="$1" folders="$2"
        shift 2
        mount --make-rprivate /
        mount --bind "$root" "$root"
        for folder in $folders; do
            mkdir -p "$root$folder"
            mount --bind "$folder" "$root$folder"
        done
        mount --rbind /dev "$root/dev"
        mount --rbind /sys "$root/sys"
        mount -t tmpfs -o mode=1777 tmpfs "$root/dev/shm"
        mount -t tmpfs -o mode=0755 tmpfs "$root/run"
        mkdir -p "$root/before"
        cd "$root"
        pivot_root . before
        mount -t proc proc /proc
        umount -l /before
        rmdir /before
        exec "$@"
    ' - "$root" "${folders[*]}" "$@"
}
