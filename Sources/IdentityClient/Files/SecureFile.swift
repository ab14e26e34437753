// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

/// The requirements for a file or directory before tokens are read or written.
enum SecureFile {
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
    static func checkLock(_ status: FileStatus, path: String) throws {
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
    static func checkDirectory(_ status: FileStatus, path: String) throws {
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

    static func refusal(_ message: String) -> AuthenticationError {
        AuthenticationError(.cachePermissions, message)
    }

    private static func octal(_ mode: UInt32) -> String {
        String(mode, radix: 8)
    }
}
