// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Glibc

/// The `keyring` that would run if this program had no link of that name.
enum NextKeyring {
    /// The variable that keeps two copies of this program from calling each other for ever.
    private static let mark = "IDENTITYCTL_KEYRING_PASSED_ON"

    /// Replaces this program by the next `keyring`. Returns only if there is none.
    static func run(_ arguments: [String], _ environment: Environment) {
        guard environment[mark] == nil, let path = path(in: environment["PATH"] ?? "") else { return }
        _ = unsafe setenv(mark, "1", 1)
        var words = unsafe ([path] + arguments).map { unsafe strdup($0) } + [nil]
        _ = unsafe execv(path, &words)
    }

    /// Returns the first executable `keyring` in the absolute directories of `PATH` that is not this program.
    static func path(in directories: String) -> String? {
        guard let own = status(of: "/proc/self/exe") else { return nil }
        let paths = directories.utf8.split(separator: UInt8(ascii: ":")).map {
            "\(String(decoding: $0, as: UTF8.self))/keyring"
        }
        return paths.first { path in
            guard path.utf8.first == UInt8(ascii: "/"), let status = status(of: path) else { return false }
            return unsafe access(path, X_OK) == 0 && status.st_mode & S_IFMT == S_IFREG
                && !(status.st_dev == own.st_dev && status.st_ino == own.st_ino)
        }
    }

    private static func status(of path: String) -> stat? {
        var status = stat()
        return unsafe stat(path, &status) == 0 ? status : nil
    }
}
