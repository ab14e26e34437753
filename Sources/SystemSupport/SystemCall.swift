// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import CSystemSupport
package import Glibc

/// A failed system call, with its reason and path.
package struct SystemCallError: Error {
    package let call: StaticString
    package let number: Int32
    package let path: String

    /// Takes the reason from `errno`; create the error directly after the call.
    package init(_ call: StaticString, _ path: String, number: Int32 = errno) {
        self.call = call
        self.number = number
        self.path = path
    }

    /// Whether the file exists already.
    package var isExistence: Bool { number == EEXIST }

    /// Whether a symbolic link is where none may be.
    package var isLink: Bool { number == ELOOP }

    /// The system's text for the reason.
    package var reason: String {
        unsafe String(cString: strerror(number))
    }
}

/// System calls without an open file. ``Descriptor`` has the others.
package enum SystemCall {
    /// The user whose rights the kernel checks.
    package static var effectiveUser: UInt32 { geteuid() }

    /// Checks that this process may create files in a directory, without creating any.
    package static func checkWritable(_ directory: String) throws(SystemCallError) {
        guard unsafe faccessat(AT_FDCWD, directory, W_OK | X_OK, AT_EACCESS) == 0 else {
            throw SystemCallError("access", directory)
        }
    }

    /// The current time, as file systems stamp it.
    package static var now: FileTime {
        var now = timespec()
        unsafe clock_gettime(CLOCK_REALTIME, &now)
        return FileTime(now)
    }

    /// Whether `path` exists and is visible to this process.
    package static func exists(_ path: String) -> Bool {
        (try? status(of: path, followingLinks: true)) != nil  // unreadable: of no use
    }

    /// Whether the program has rights that its caller lacks (setuid, setgid, or file capabilities): then a user with
    /// fewer rights controls the environment.
    ///
    /// - SeeAlso: `AT_SECURE` in getauxval(3)
    package static let hasRaisedRights = csystem_has_raised_rights()

    /// Keeps other processes of the user from reading this process's memory, and core dumps from holding it.
    ///
    /// - Returns: Whether the system allows that.
    package static func hideMemory() -> Bool { csystem_hide_memory() }

    /// Opens a descriptor of a process, which is readable once the process has ended.
    ///
    /// - Returns: -1 if there is no such process, or before Linux 5.3; `errno` says why.
    package static func descriptor(ofProcess process: Int32) -> Int32 { csystem_process_descriptor(process) }

    /// A variable of the environment; `nil` if unset or empty, and in a program with raised rights.
    package static func environment(_ name: String) -> String? {
        guard !hasRaisedRights, let value = unsafe getenv(name) else { return nil }
        let text = unsafe String(cString: value)
        return text.isEmpty ? nil : text
    }

    /// The directory at which relative paths begin.
    package static var workingDirectory: String? {
        guard let path = unsafe getcwd(nil, 0) else { return nil }
        defer { unsafe free(path) }
        return unsafe String(cString: path)
    }

    /// The home in the user database, or `nil` for an unknown user.
    package static func home(ofUser user: UInt32) -> String? { unsafe entry(ofUser: user) { unsafe $0.pw_dir } }

    /// The name in the user database, or `nil` for an unknown user.
    package static func name(ofUser user: UInt32) -> String? { unsafe entry(ofUser: user) { unsafe $0.pw_name } }

    private static func entry(ofUser user: UInt32, _ member: (passwd) -> UnsafeMutablePointer<CChar>?) -> String? {
        var entry = unsafe passwd()
        var found: UnsafeMutablePointer<passwd>?
        return unsafe withUnsafeTemporaryAllocation(of: CChar.self, capacity: 16 << 10) { text -> String? in
            guard let start = text.baseAddress,
                unsafe getpwuid_r(user, &entry, start, text.count, &found) == 0,
                unsafe found != nil, let text = unsafe member(entry)
            else { return nil }
            return unsafe String(cString: text)
        }
    }

    /// The numbers of this process's open descriptors; `nil` if the system does not tell.
    ///
    /// It has numbers of the listing itself too, which are free again afterwards.
    package static var openDescriptors: [Int32]? {
        guard let directory = try? Descriptor.directory("/proc/self/fd") else { return nil }
        return (try? directory.names())?.compactMap { Int32($0) }
    }

    /// Makes a pipe that no program inherits, also one that another thread starts meanwhile.
    ///
    /// - Returns: `nil` if that failed; `errno` says why.
    package static func pipe() -> (reading: Int32, writing: Int32)? {
        var ends: [Int32] = [-1, -1]
        return unsafe csystem_pipe(&ends) ? (ends[0], ends[1]) : nil
    }

    /// The kind of the file system of an open file, or 0: `f_type` of fstatfs(2).
    package static func fileSystemKind(of descriptor: Int32) -> UInt32 { csystem_file_system_kind(descriptor) }

    /// The status of `path`, or `nil` if it does not exist.
    package static func status(of path: String, followingLinks: Bool) throws(SystemCallError) -> FileStatus? {
        var status = stat()
        let result = followingLinks ? unsafe stat(path, &status) : unsafe lstat(path, &status)
        if result == 0 { return FileStatus(status) }
        if errno == ENOENT { return nil }
        throw SystemCallError("stat", path)
    }

    /// The fingerprint of the file at `path`, or `nil` if it is unavailable.
    package static func fingerprint(of path: String) -> FileFingerprint? {
        var status = stat()
        // Passing a string to C would copy it first; its own bytes avoid the copy.
        let result = unsafe path.withCString { unsafe lstat($0, &status) }
        return result == 0 ? FileFingerprint(status) : nil
    }

    /// Creates a directory that only its owner may enter, under any umask.
    ///
    /// If others may still write to it, the file system keeps no permissions: the call fails like an unsupported
    /// `chmod`, and leaves no directory.
    /// - Returns: `false` if the path already exists.
    package static func makeDirectory(_ path: String) throws(SystemCallError) -> Bool {
        guard unsafe mkdir(path, 0o700) == 0 else {
            if errno == EEXIST { return false }
            throw SystemCallError("mkdir", path)
        }
        guard let status = try status(of: path, followingLinks: false) else { return true }
        guard !status.isOpenToWriters else {
            _ = unsafe rmdir(path)
            throw SystemCallError("chmod", path, number: EOPNOTSUPP)
        }
        // A umask can remove bits; without its owner's bits the directory would be useless.
        if status.mode & 0o700 != 0o700 {
            guard unsafe chmod(path, 0o700) == 0 else { throw SystemCallError("chmod", path) }
        }
        return true
    }
}

/// An instant as a file system stamps it, in nanoseconds since 1970.
package struct FileTime: Hashable, Sendable, Comparable {
    package let nanoseconds: Int64

    /// Limited to the years 1970 to 2255: any program can set another time, and sums must not overflow.
    package init(_ time: timespec) {
        nanoseconds = min(max(0, Int64(time.tv_sec)), 9_000_000_000) * 1_000_000_000 + Int64(time.tv_nsec)
    }

    package var timespec: timespec {
        Glibc.timespec(tv_sec: Int(nanoseconds / 1_000_000_000), tv_nsec: Int(nanoseconds % 1_000_000_000))
    }

    /// The time from this instant to `other`; negative if this instant is later.
    package func duration(to other: FileTime) -> Duration {
        .nanoseconds(other.nanoseconds - nanoseconds)
    }

    package static func < (one: FileTime, other: FileTime) -> Bool {
        one.nanoseconds < other.nanoseconds
    }
}

/// Values that distinguish a file's contents without reading them.
package struct FileFingerprint: Hashable, Sendable {
    package let device: UInt64
    package let inode: UInt64
    package let size: Int64
    package let modified: FileTime
    package let changed: FileTime

    package init(_ status: stat) {
        device = UInt64(status.st_dev)
        inode = UInt64(status.st_ino)
        size = Int64(status.st_size)
        modified = FileTime(status.st_mtim)
        changed = FileTime(status.st_ctim)
    }

    /// Whether a later change certainly gives another fingerprint, if this one was taken at `now`.
    ///
    /// Kernels before 6.13 stamp in ticks of up to 10 ms: two changes in one tick look the same.
    package func isSettled(at now: FileTime) -> Bool {
        max(modified, changed).duration(to: now) >= .milliseconds(20)
    }
}

/// The status of a file or directory.
package struct FileStatus: Sendable {
    package enum Kind: Sendable {
        case file, directory, other
    }

    package let kind: Kind
    package let fingerprint: FileFingerprint
    package let owner: UInt32
    package let links: Int
    /// The permission bits.
    package let mode: UInt32

    /// Whether only its owner may read and write it.
    package var isPrivate: Bool { mode & 0o677 == 0o600 }

    /// Whether another user may write to it.
    package var isOpenToWriters: Bool { mode & 0o022 != 0 }

    package init(_ status: stat) {
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
