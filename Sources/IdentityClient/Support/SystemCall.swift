// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import CCurl
import Glibc

/// A call to the system that failed: which one, why, and on what.
struct SystemCallError: Error {
    let call: StaticString
    let number: Int32
    let path: String

    /// Takes the reason from `errno`; make it right after the call.
    init(_ call: StaticString, _ path: String, number: Int32 = errno) {
        self.call = call
        self.number = number
        self.path = path
    }

    /// The system's words for the reason.
    var reason: String {
        unsafe String(cString: strerror(number))
    }
}

/// The system's calls that need no open file. Those that do are in ``Descriptor``.
package enum SystemCall {
    /// The user whom the kernel asks about.
    package static var effectiveUser: UInt32 { geteuid() }

    /// Checks that the system would let this process make files in a directory; nothing is made.
    static func checkWritable(_ directory: String) throws(SystemCallError) {
        guard unsafe faccessat(AT_FDCWD, directory, W_OK | X_OK, AT_EACCESS) == 0 else {
            throw SystemCallError("access", directory)
        }
    }

    /// The time as file systems stamp it.
    static var now: FileTime {
        var now = timespec()
        unsafe clock_gettime(CLOCK_REALTIME, &now)
        return FileTime(now)
    }

    /// The monotonic clock as of its last tick, some milliseconds ago: the kernel tells it without being called.
    static var coarseTime: CoarseTime {
        var now = timespec()
        unsafe clock_gettime(CLOCK_MONOTONIC_COARSE, &now)
        return CoarseTime(nanoseconds: Int64(now.tv_sec) * 1_000_000_000 + Int64(now.tv_nsec))
    }

    /// Whether something lies at `path` that this process may look at.
    package static func exists(_ path: String) -> Bool {
        (try? status(of: path, followingLinks: true)) != nil  // unreadable: of no use
    }

    /// Whether the program has rights that its caller lacks (setuid, setgid, or capabilities of the file): then the
    /// environment is the words of somebody with fewer rights.
    ///
    /// - SeeAlso: `AT_SECURE` in getauxval(3)
    package static let hasRaisedRights = ccurl_has_raised_rights()

    /// A variable of the environment; `nil` when it is unset or empty, and in a program with raised rights.
    package static func environment(_ name: String) -> String? {
        guard !hasRaisedRights, let value = unsafe getenv(name) else { return nil }
        let text = unsafe String(cString: value)
        return text.isEmpty ? nil : text
    }

    /// The directory that a relative path begins at.
    static var workingDirectory: String? {
        guard let path = unsafe getcwd(nil, 0) else { return nil }
        defer { unsafe free(path) }
        return unsafe String(cString: path)
    }

    /// The home that the user database names, or `nil` where it does not know the user.
    static func home(ofUser user: UInt32) -> String? {
        var entry = unsafe passwd()
        var found: UnsafeMutablePointer<passwd>?
        return unsafe withUnsafeTemporaryAllocation(of: CChar.self, capacity: 16 << 10) { text -> String? in
            guard let start = text.baseAddress,
                unsafe getpwuid_r(user, &entry, start, text.count, &found) == 0,
                unsafe found != nil, let home = unsafe entry.pw_dir
            else { return nil }
            return unsafe String(cString: home)
        }
    }

    /// What lies at `path`, or `nil` when nothing does.
    static func status(of path: String, followingLinks: Bool) throws(SystemCallError) -> FileStatus? {
        var status = stat()
        let result = followingLinks ? unsafe stat(path, &status) : unsafe lstat(path, &status)
        if result == 0 { return FileStatus(status) }
        if errno == ENOENT { return nil }
        throw SystemCallError("stat", path)
    }

    /// The fingerprint of the file at `path`, or `nil` where there is none to be had.
    static func fingerprint(of path: String) -> FileFingerprint? {
        var status = stat()
        // A string that is an argument of C is copied first; its own bytes serve as well.
        let result = unsafe path.withCString { unsafe lstat($0, &status) }
        return result == 0 ? FileFingerprint(status) : nil
    }

    /// Makes a directory that only its owner may enter, under any umask.
    ///
    /// Where others may write to it nevertheless, the file system keeps no permissions: it fails as a `chmod` that is not
    /// supported, and leaves no directory.
    /// - Returns: `false` when something was there already.
    static func makeDirectory(_ path: String) throws(SystemCallError) -> Bool {
        guard unsafe mkdir(path, 0o700) == 0 else {
            if errno == EEXIST { return false }
            throw SystemCallError("mkdir", path)
        }
        guard let status = try status(of: path, followingLinks: false) else { return true }
        guard !status.isOpenToWriters else {
            _ = unsafe rmdir(path)
            throw SystemCallError("chmod", path, number: EOPNOTSUPP)
        }
        // A umask can take bits away; without its owner's the directory would be of no use.
        if status.mode & 0o700 != 0o700 {
            guard unsafe chmod(path, 0o700) == 0 else { throw SystemCallError("chmod", path) }
        }
        return true
    }
}
