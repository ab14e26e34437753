// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Glibc

/// A person's configuration file, read as a whole, for a tool that has no command to change it.
struct ConfigFile: Hashable, Sendable {
    /// The usual maximum length in bytes.
    private static let maximumSize = 8 << 20

    let path: String
    /// The file's content; `nil` if there is no file.
    let bytes: [UInt8]?
    private let mode: mode_t
    private let limit: Int

    /// - Parameter limit: The maximum length in bytes.
    /// - Throws: `UsageError` for what is no plain file of this user, `SystemFailure` if it cannot be read.
    init(_ path: String, atMost limit: Int = maximumSize) throws {
        (self.path, self.limit) = (path, limit)
        let found = try Self.read(try PlainFile.target(of: path), atMost: limit)
        bytes = found?.0
        mode = found?.1 ?? 0o600
    }

    /// Writes the file anew, at once as a whole, with its mode. A new one is readable only by this user. Without content
    /// the file is removed, which means the same to a tool, unless a link leads to it.
    ///
    /// - Throws: `UsageError` if another program has changed the file since it was read, `SystemFailure`.
    func replace(with content: [UInt8]) throws {
        guard try content.isEmpty && PlainFile.target(of: path) == path else {
            return try PlainFile.write(content, to: path, mode: mode) { _ in try checkIsUnchanged() }
        }
        try checkIsUnchanged()
        guard bytes == nil || PlainFile.remove(path) else {
            throw SystemFailure("\(path.printable) cannot be removed", number: errno)
        }
    }

    private func checkIsUnchanged() throws {
        guard try Self.read(path, atMost: limit)?.0 == bytes else {
            throw UsageError("\(path.printable) was changed by another program meanwhile. Try again.")
        }
    }

    /// Whether there is something at a path.
    static func exists(_ path: String) -> Bool { unsafe access(path, F_OK) == 0 }

    private static func read(_ path: String, atMost limit: Int) throws -> ([UInt8], mode_t)? {
        let found = try PlainFile.read(path, atMost: limit + 1) { status in
            guard status.st_mode & S_IFMT == S_IFREG, status.st_uid == geteuid() else {
                throw UsageError("\(path.printable) is no plain file of your own.")
            }
        }
        guard let found else { return nil }
        guard found.bytes.count <= limit else {
            throw UsageError("\(path.printable) is larger than \(limit >> 20) MiB.")
        }
        return (found.bytes, found.mode & 0o7777)
    }
}
