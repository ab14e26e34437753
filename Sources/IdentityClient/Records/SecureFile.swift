// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Glibc
package import SystemSupport

/// The requirements for a file or directory before tokens are read or written.
package enum SecureFile {
    /// The maximum length of a record in bytes.
    static let recordLimit = 1 << 20

    /// The maximum length of a file in bytes: a record, and the encryption's overhead.
    static let sizeLimit = recordLimit + 64

    /// Checks an open file: a plain file with one name and an acceptable size, accessible only to this user.
    ///
    /// It may have no name at all: if it was replaced after it was opened, its content was valid until then.
    static func check(_ status: FileStatus, path: String) throws {
        try checkLock(status, path: path)
        guard status.fingerprint.size <= sizeLimit else {
            throw AuthenticationError(.cache, "\(path) is larger than 1 MiB, so it is not a record. Remove it.")
        }
    }

    /// Checks an open lock file: the same, except for its size, which is a number.
    package static func checkLock(_ status: FileStatus, path: String) throws {
        guard status.kind == .file else {
            throw refusal("\(path) is not a plain file. Remove it.")
        }
        try checkOwner(status, path: path)
        guard status.links <= 1 else {
            throw refusal("\(path) has a second name (a hard link), so that others may read or change it. Remove it.")
        }
        guard status.mode & 0o077 == 0 else {
            throw refusal(
                "\(path) is open to other users (mode \(octal(status.mode))). If no other user has used it, repair the mode with: "
                    + "chmod 600 \(path.shellWord)" + otherwise
            )
        }
    }

    /// Checks an open directory: only this user may change its entries.
    package static func checkDirectory(_ status: FileStatus, path: String) throws {
        guard status.kind == .directory else {
            throw refusal("\(path) is not a directory. Remove it, or name another directory.")
        }
        try checkOwner(status, path: path)
        guard !status.isOpenToWriters else {
            throw refusal(
                "Other users may write to \(path) (mode \(octal(status.mode))). If none has done so, repair the mode with: "
                    + "chmod 700 \(path.shellWord)" + otherwise
            )
        }
    }

    private static func checkOwner(_ status: FileStatus, path: String) throws {
        let user = SystemCall.effectiveUser
        guard status.owner == user else {
            throw refusal(
                "\(path) belongs to user \(status.owner), but this program runs as user \(user). Run it as that user"
                    // A person's directory that became root's would be lost to the person.
                    + (user == 0 ? ", without sudo." : ", or let an administrator run: chown \(user) \(path.shellWord)")
            )
        }
    }

    private static let otherwise =
        " (if that changes nothing, the file system keeps no permissions: name another directory)"

    package static func refusal(_ message: String) -> AuthenticationError {
        AuthenticationError(.cachePermissions, message)
    }

    private static func octal(_ mode: UInt32) -> String {
        String(mode, radix: 8)
    }
}

extension FilePath {
    /// Throws for a path whose bytes were no UTF-8. Its text has replacement characters, and names another place.
    ///
    /// - Throws: `.cache` that names the variable.
    package static func checkReadable(_ path: String?, of variable: String) throws {
        guard path?.unicodeScalars.contains("\u{FFFD}") == true else { return }
        throw AuthenticationError(
            .cache,
            "The path in \(variable) is no UTF-8, so files would be put elsewhere. Set it to a path in UTF-8, such as a link to the directory."
        )
    }
}

extension AuthenticationError {
    /// The error of a file cache for a failed system call.
    package init(_ failure: SystemCallError) {
        let path = failure.path
        switch failure.number {
        case ENOSPC, EDQUOT:
            self.init(
                .cacheFull,
                "There is no room left on the disk of \(Self.withoutTemporaryName(path)). Free some space there.",
                underlyingError: failure
            )
        case EFBIG:
            self.init(
                .cacheFull,
                "This program may not write a file as long as \(Self.withoutTemporaryName(path)) needs: its file size limit is "
                    + "lower. Raise the limit: ulimit -f",
                underlyingError: failure
            )
        case EMFILE, ENFILE:
            self.init(
                .cache,
                "\(Self.withoutTemporaryName(path)) could not be opened: "
                    + (failure.number == EMFILE ? "this program has" : "the programs of this computer have")
                    + " as many files open as the limit allows. Close some, or raise the limit"
                    + (failure.number == EMFILE ? ": ulimit -n" : "."),
                underlyingError: failure
            )
        case EROFS:
            self.init(
                .cachePermissions,
                "\(path) cannot be written: its file system is read-only. \(Self.elsewhere)",
                underlyingError: failure
            )
        case EACCES, EPERM:
            self.init(
                .cachePermissions,
                "The system does not let this program use \(path). Check its owner and mode, and the directories above it. "
                    + Self.elsewhere,
                underlyingError: failure
            )
        case EOPNOTSUPP where failure.call.description == "chmod":
            self.init(
                .cachePermissions,
                "The file system of \(path) keeps no permissions, so that others could read tokens there. Name another "
                    + "directory.",
                underlyingError: failure
            )
        case _ where failure.call.description == "flock" && [ENOLCK, ENOSYS, EOPNOTSUPP].contains(failure.number):
            self.init(
                .cache,
                "The file system of \(Self.withoutTemporaryName(path)) keeps no locks (\(failure.reason)), and without them programs end "
                    + "each other's sign-ins. Name a directory on a local disk.",
                underlyingError: failure
            )
        case ELOOP, ENOTDIR:
            self.init(
                .cachePermissions,
                "\(path) is, or leads through, a symbolic link or a file where a plain file or directory is needed. "
                    + "Name another directory, or move it aside if it is yours.",
                underlyingError: failure
            )
        default:
            self.init(
                .cache,
                "\(path) could not be used (\(failure.call)): \(failure.reason).",
                underlyingError: failure
            )
        }
    }

    /// The folder of a temporary file, whose own name means nothing to a reader.
    private static func withoutTemporaryName(_ path: String) -> String {
        let end = path.utf8.lastIndex(of: UInt8(ascii: "/"))
        return end.flatMap { path[$0...].hasPrefix("/.new-") ? String(path[..<$0]) : nil } ?? path
    }

    /// Advice for a user without a usable home (`/nonexistent`, `/`), as in many services.
    private static let elsewhere = "If this user has no home, set XDG_STATE_HOME or name a directory."

    /// Converts an error to one that a cache may throw.
    static func fromFileCache(_ error: any Error) -> any Error {
        (error as? SystemCallError).map { AuthenticationError($0) } ?? error
    }
}
