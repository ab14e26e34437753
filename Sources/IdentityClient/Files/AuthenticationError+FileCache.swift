// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Glibc

extension AuthenticationError {
    /// The error of a file cache for a failed system call.
    init(_ failure: SystemCallError) {
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
