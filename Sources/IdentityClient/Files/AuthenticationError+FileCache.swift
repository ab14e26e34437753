// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Glibc

extension AuthenticationError {
    /// What a failed call to the system means for someone whose tokens rest in files.
    init(_ failure: SystemCallError) {
        let path = failure.path
        switch failure.number {
        case ENOSPC, EDQUOT:
            self.init(
                .cacheFull,
                "There is no room left on the disk of \(Self.withoutTemporaryName(path)). Free some space there.",
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
                "The system does not let this program use \(path): check the owner and mode of it and of what is above it. "
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
                    + "Name another directory, or move that aside where it is yours.",
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

    /// The folder of a file that was to become another one: its own name says nothing to anybody.
    private static func withoutTemporaryName(_ path: String) -> String {
        let end = path.utf8.lastIndex(of: UInt8(ascii: "/"))
        return end.flatMap { path[$0...].hasPrefix("/.new-") ? String(path[..<$0]) : nil } ?? path
    }

    /// What helps a user whose home is none (`/nonexistent`, `/`), as many services have it.
    private static let elsewhere = "Where this user has no home, set XDG_STATE_HOME or name a directory."

    /// An error as a cache may throw it.
    static func fromFileCache(_ error: any Error) -> any Error {
        (error as? SystemCallError).map { AuthenticationError($0) } ?? error
    }
}
