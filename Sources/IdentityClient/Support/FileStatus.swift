// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Glibc

/// An instant as a file system stamps it, in nanoseconds since 1970.
struct FileTime: Hashable, Sendable, Comparable {
    let nanoseconds: Int64

    /// Limited to the years 1970 to 2255: any program can set another time, and sums must not overflow.
    init(_ time: timespec) {
        nanoseconds = min(max(0, Int64(time.tv_sec)), 9_000_000_000) * 1_000_000_000 + Int64(time.tv_nsec)
    }

    var timespec: timespec {
        Glibc.timespec(tv_sec: Int(nanoseconds / 1_000_000_000), tv_nsec: Int(nanoseconds % 1_000_000_000))
    }

    /// The time from this instant to `other`; negative if this instant is later.
    func duration(to other: FileTime) -> Duration {
        .nanoseconds(other.nanoseconds - nanoseconds)
    }

    static func < (one: FileTime, other: FileTime) -> Bool {
        one.nanoseconds < other.nanoseconds
    }
}

/// An instant of the monotonic clock, precise to hundredths of a second.
struct CoarseTime: Sendable {
    let nanoseconds: Int64
}

/// Values that distinguish a file's contents without reading them.
struct FileFingerprint: Hashable, Sendable {
    let device: UInt64
    let inode: UInt64
    let size: Int64
    let modified: FileTime
    let changed: FileTime

    init(_ status: stat) {
        device = UInt64(status.st_dev)
        inode = UInt64(status.st_ino)
        size = Int64(status.st_size)
        modified = FileTime(status.st_mtim)
        changed = FileTime(status.st_ctim)
    }

    /// Whether `status` has this fingerprint. It compares in place, because copying a `stat` is expensive.
    @inline(__always)
    func matches(_ status: stat) -> Bool {
        changed == FileTime(status.st_ctim) && inode == UInt64(status.st_ino) && device == UInt64(status.st_dev)
            && size == Int64(status.st_size) && modified == FileTime(status.st_mtim)
    }

    /// Whether a later change certainly gives another fingerprint, if this one was taken at `now`.
    ///
    /// Kernels before 6.13 stamp in ticks of up to 10 ms: two changes in one tick look the same.
    func isSettled(at now: FileTime) -> Bool {
        max(modified, changed).duration(to: now) >= .milliseconds(20)
    }
}

/// The status of a file or directory.
struct FileStatus: Sendable {
    enum Kind: Sendable {
        case file, directory, other
    }

    let kind: Kind
    let fingerprint: FileFingerprint
    let owner: UInt32
    let links: Int
    /// The permission bits.
    let mode: UInt32

    /// Whether only its owner may read and write it.
    var isPrivate: Bool { mode & 0o677 == 0o600 }

    /// Whether another user may write to it.
    var isOpenToWriters: Bool { mode & 0o022 != 0 }

    init(_ status: stat) {
        kind =
            switch status.st_mode & S_IFMT {
            case S_IFREG: .file
            case S_IFDIR: .directory
            default: .other
            }
        fingerprint = FileFingerprint(status)
        owner = status.st_uid
        links = Int(status.st_nlink)
        mode = status.st_mode & 0o7777
    }
}
