// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Glibc
import Synchronization

/// A file with a token. A reader finds the old token or the new one, never a part; only the owner can read it.
final class TokenFile: Sendable {
    let path: String
    private let isLocked: Bool
    /// Returns the file's text for a token.
    private let text: @Sendable (String) -> String
    /// The file that was written last. While its descriptor is open, no other file can have its inode number.
    private let written = Mutex<Int32?>(nil)

    /// - Parameters:
    ///   - isLocked: Whether the file is locked while it is kept fresh, so that only one process keeps it.
    ///   - text: Returns the file's text for a token; the token alone unless given.
    init(_ path: String, isLocked: Bool = false, _ text: @escaping @Sendable (String) -> String = { $0 }) {
        (self.path, self.isLocked, self.text) = (path, isLocked, text)
    }

    deinit {
        if let descriptor = written.withLock({ $0 }) { close(descriptor) }
    }

    /// Checks that the file can be written, before a token is asked for.
    ///
    /// - Throws: `UsageError` if something else has the name, `SystemFailure`, also if another process keeps the file.
    func check() throws {
        try checkTarget()
        try checkIsNotKept()
    }

    /// - Throws: `SystemFailure` if another process keeps a file of this name fresh.
    func checkIsNotKept() throws {
        guard isLocked, !isInPlace else { return }
        let descriptor = unsafe open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC)
        guard descriptor >= 0 else { return }
        defer { close(descriptor) }
        guard flock(descriptor, LOCK_SH | LOCK_NB) != 0, errno == EWOULDBLOCK else { return }
        throw SystemFailure("Another process keeps \(path.printable) fresh. End it, or name another file.")
    }

    /// Puts a file with a token, and nothing else, in the place of an older one.
    ///
    /// - Throws: `UsageError` if something else has the name, `SystemFailure`; the older file then stays.
    func write(_ token: String) throws {
        try checkTarget()
        var kept: Int32 = -1
        do {
            try PlainFile.write(Array(text(token).utf8), to: path, in: .name) { descriptor in
                // A file system without locks takes a second keeper.
                if isLocked { _ = flock(descriptor, LOCK_EX | LOCK_NB) }
                kept = fcntl(descriptor, F_DUPFD_CLOEXEC, 3)
                guard kept >= 0 else { throw failure(errno) }
            }
        } catch {
            if kept >= 0 { close(kept) }
            throw error
        }
        let older = written.withLock { written in
            defer { written = kept }
            return written
        }
        if let older { close(older) }
    }

    /// Whether the name still leads to the file that was written last.
    var isInPlace: Bool {
        guard let descriptor = written.withLock({ $0 }) else { return false }
        var (own, named) = (stat(), stat())
        return unsafe fstat(descriptor, &own) == 0 && lstat(path, &named) == 0 && own.st_dev == named.st_dev
            && own.st_ino == named.st_ino
    }

    /// Removes the file that was written last. Another file that has taken its name stays.
    func remove() {
        if isInPlace { unsafe unlink(path) }
    }

    /// A link could lead anywhere, and a device such as /dev/stdout would be replaced by a file.
    private func checkTarget() throws {
        var status = stat()
        if unsafe lstat(path, &status) == 0 {
            try check(status)
        } else if errno != ENOENT || path.utf8.last == UInt8(ascii: "/") {
            throw failure(errno)
        }
        guard unsafe access(PlainFile.directory(of: path), W_OK | X_OK) == 0 else { throw failure(errno) }
    }

    private func check(_ status: stat) throws {
        let kind: String? =
            switch status.st_mode & S_IFMT {
            case S_IFREG: nil
            case S_IFDIR: "a directory"
            case S_IFLNK: "a symbolic link"
            default: "no plain file"
            }
        if let kind { throw UsageError("\(path.printable) is \(kind). Name a file, which is replaced.") }
        guard status.st_uid == geteuid() else {
            throw UsageError(
                "\(path.printable) belongs to user \(status.st_uid), and this program runs as user \(geteuid()). Name another file."
            )
        }
    }

    private func failure(_ number: Int32) -> SystemFailure {
        SystemFailure("\(path.printable) could not be written", number: number)
    }
}
