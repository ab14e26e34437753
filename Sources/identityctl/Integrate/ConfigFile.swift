// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Glibc

/// A person's configuration file, read as a whole, for a tool that has no command to change it.
struct ConfigFile: Hashable, Sendable {
    /// The maximum length in bytes.
    private static let maximumSize = 1 << 20

    let path: String
    /// The file's content; `nil` if there is no file.
    let bytes: [UInt8]?
    /// The file that a symbolic link leads to, so that the link itself stays; otherwise `path`.
    private let target: String
    private let mode: mode_t

    /// - Throws: `UsageError` for what is no plain file of this user, `SystemFailure` if it cannot be read.
    init(_ path: String) throws {
        self.path = path
        target = try Self.target(of: path)
        let found = try Self.read(target)
        bytes = found?.0
        mode = found?.1 ?? 0o600
    }

    /// Writes the file anew, at once as a whole, with its mode. A new one is readable only by this user.
    ///
    /// - Throws: `UsageError` if another program has changed the file since it was read, `SystemFailure`.
    func replace(with content: [UInt8]) throws {
        let directory = target.utf8.lastIndex(of: UInt8(ascii: "/")).map { String(target[..<$0]) } ?? "."
        if bytes == nil {
            do {
                try FileManager.default.createDirectory(
                    atPath: directory,
                    withIntermediateDirectories: true,
                    attributes: [.posixPermissions: 0o700]
                )
            } catch {
                throw SystemFailure("\(directory.printable) cannot be made: check the owner and mode of your home.")
            }
        }
        let beside = "\(target).\(getpid()).new"
        let descriptor = unsafe open(beside, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard descriptor >= 0 else { throw SystemFailure("\(beside.printable) cannot be written", number: errno) }
        defer { _ = unsafe unlink(beside) }
        do {
            defer { close(descriptor) }
            try StandardStream.write(content, to: descriptor, named: beside.printable)
            guard fchmod(descriptor, mode) == 0, fsync(descriptor) == 0 else {
                throw SystemFailure("\(beside.printable) cannot be written", number: errno)
            }
        }
        guard try Self.read(target)?.0 == bytes else {
            throw UsageError("\(path.printable) was changed by another program meanwhile. Try again.")
        }
        guard unsafe rename(beside, target) == 0 else {
            throw SystemFailure("\(path.printable) cannot be written", number: errno)
        }
    }

    private static func target(of path: String) throws -> String {
        var status = stat()
        guard unsafe lstat(path, &status) == 0, status.st_mode & S_IFMT == S_IFLNK else { return path }
        guard let target = unsafe realpath(path, nil) else {
            throw UsageError("\(path.printable) is a link that leads to no file. Remove the link, and try again.")
        }
        defer { unsafe free(target) }
        return unsafe String(cString: target)
    }

    private static func read(_ path: String) throws -> ([UInt8], mode_t)? {
        let found = try PlainFile.read(path, atMost: maximumSize + 1) { status in
            guard status.st_mode & S_IFMT == S_IFREG, status.st_uid == geteuid() else {
                throw UsageError("\(path.printable) is no plain file of your own.")
            }
        }
        guard let found else { return nil }
        guard found.bytes.count <= maximumSize else { throw UsageError("\(path.printable) is larger than 1 MiB.") }
        return (found.bytes, found.mode & 0o7777)
    }
}
