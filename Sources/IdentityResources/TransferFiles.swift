// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Glibc
import IdentityClient
import OAuthWire
import SystemSupport

/// The executor of file calls for transfers, which may wait for a disk.
enum TransferFiles {
    static let executor = QueueExecutor("identity-client.transfers", width: 4)

    static func changed(_ path: String) -> AuthenticationError {
        AuthenticationError(.fileUnavailable, "The file \(path) changed while it was sent. Send it again.")
    }

    static func failure(_ what: String, _ path: String, number: Int32) -> AuthenticationError {
        AuthenticationError(
            .fileUnavailable,
            "The file \(path) cannot be \(what): \(unsafe String(cString: strerror(number)))."
        )
    }
}

/// A regular file that is open for reading.
final class ReadableFile: Sendable {
    let path: String
    let length: Int64
    private let descriptor: Int32

    init(_ path: String) throws {
        self.path = path
        // A FIFO does not block.
        descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)
        guard descriptor >= 0 else { throw TransferFiles.failure("read", path, number: errno) }
        var status = stat()
        guard unsafe fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
            Glibc.close(descriptor)
            throw AuthenticationError(.fileUnavailable, "\(path) is no regular file, so it is not sent.")
        }
        length = Int64(status.st_size)
    }

    deinit {
        Glibc.close(descriptor)
    }

    func read(atMost limit: Int) throws -> [UInt8] {
        var number: Int32 = 0
        let bytes = unsafe [UInt8](unsafeUninitializedCapacity: limit) { buffer, count in
            var result: Int
            repeat {
                result = unsafe Glibc.read(descriptor, buffer.baseAddress, limit)
            } while result < 0 && errno == EINTR
            if result < 0 { number = errno }
            count = max(0, result)
        }
        if number != 0 { throw TransferFiles.failure("read", path, number: number) }
        return bytes
    }
}

/// The destination of a download: a file that gets its name when it is complete.
///
/// If the path names something other than a regular file (a FIFO, a device), it stays what it is, and the bytes are
/// written as they arrive. The same applies to a file that is named by a descriptor (`/dev/stdout`), because the
/// program that opened it goes on writing to it.
final class PartialFile: Sendable {
    private let path: String
    private let descriptor: Int32
    /// The names of the file before and after it is complete; `nil` if the destination is not a regular file.
    private let names: (part: String, final: String)?

    private init(_ path: String, _ descriptor: Int32, _ names: (part: String, final: String)? = nil) {
        self.path = path
        self.descriptor = descriptor
        self.names = names
    }

    deinit {
        Glibc.close(descriptor)
    }

    /// Opens the destination at `path`, or creates a file. For a FIFO, waits for a reader.
    static func open(_ path: String) async throws -> PartialFile {
        while true {
            if let file = try await TransferFiles.executor.run({ try openNow(path) }) { return file }
            try await Task.sleep(for: .milliseconds(50))
        }
    }

    /// - Returns: `nil` for a FIFO without a reader.
    private static func openNow(_ path: String) throws -> PartialFile? {
        var status = stat()
        let named = descriptor(namedBy: path)
        if let named {
            // A descriptor that is open for reading could be opened anew for writing, where the bytes would be lost.
            let flags = fcntl(named, F_GETFL)
            guard flags >= 0, flags & O_ACCMODE != O_RDONLY else {
                throw TransferFiles.failure("written", path, number: EBADF)
            }
        }
        guard unsafe stat(path, &status) == 0 else {
            let number = errno
            // An empty name and a link to nothing cannot name a file.
            guard number == ENOENT, !path.isEmpty, unsafe lstat(path, &status) != 0 else {
                throw TransferFiles.failure("written", path, number: number)
            }
            return try begin(path, at: path, mode: nil)
        }
        let kind = status.st_mode & S_IFMT
        if let named, kind == S_IFREG || kind == S_IFSOCK {
            let descriptor = fcntl(named, F_DUPFD_CLOEXEC, 3)
            guard descriptor >= 0 else { throw TransferFiles.failure("written", path, number: errno) }
            return PartialFile(path, descriptor)
        }
        switch kind {
        case S_IFREG:
            guard let final = unsafe realpath(path, nil) else {
                throw TransferFiles.failure("written", path, number: errno)
            }
            defer { unsafe free(final) }
            return try begin(path, at: unsafe String(cString: final), mode: status.st_mode & 0o777)
        case S_IFDIR:
            throw TransferFiles.failure("written", path, number: EISDIR)
        default:
            let descriptor = unsafe Glibc.open(path, O_WRONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK)
            if descriptor < 0, errno == ENXIO, kind == S_IFIFO { return nil }
            guard descriptor >= 0 else { throw TransferFiles.failure("written", path, number: errno) }
            return PartialFile(path, descriptor)
        }
    }

    /// Returns the descriptor of this process that a path denotes: `/dev/stdout`, `/dev/fd/3`, `/proc/self/fd/3`, or a
    /// link to such a path.
    private static func descriptor(namedBy path: String) -> Int32? {
        var name = path
        for _ in 0..<8 {
            for folder in ["/dev/fd/", "/proc/self/fd/", "/proc/thread-self/fd/", "/proc/\(getpid())/fd/"]
            where name.hasPrefix(folder) {
                return Int32(name.dropFirst(folder.count))
            }
            var target = [CChar](repeating: 0, count: Int(PATH_MAX))
            let length = unsafe readlink(name, &target, target.count)
            guard length > 0 else { return nil }
            let link = String(decoding: target[..<length].map { UInt8(bitPattern: $0) }, as: UTF8.self)
            let directory = name.lastIndex(of: "/").map { String(name[...$0]) } ?? ""
            name = link.hasPrefix("/") ? link : directory + link
        }
        return nil
    }

    /// - Parameter mode: The mode of the file that has the name now.
    private static func begin(_ path: String, at final: String, mode: mode_t?) throws -> PartialFile {
        let part = "\(final).part\(SecureRandom.token(bytes: 6))"
        let descriptor = unsafe Glibc.open(part, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode ?? 0o666)
        guard descriptor >= 0 else { throw TransferFiles.failure("written", path, number: errno) }
        // If this fails, the process's mask has left less than the mode.
        if let mode { fchmod(descriptor, mode) }
        return PartialFile(path, descriptor, (part, final))
    }

    func write(_ bytes: [UInt8]) async throws {
        var rest = bytes[...]
        while !rest.isEmpty {
            let piece = rest
            let count = try await TransferFiles.executor.run { try self.writeNow(piece) }
            rest = rest.dropFirst(count)
            if count == 0 { try await Task.sleep(for: .milliseconds(10)) }
        }
    }

    /// - Returns: The number of bytes written; 0 if a FIFO is full.
    private func writeNow(_ bytes: ArraySlice<UInt8>) throws -> Int {
        while true {
            let count = unsafe bytes.withUnsafeBytes { unsafe Glibc.write(descriptor, $0.baseAddress, $0.count) }
            if count >= 0 { return count }
            if errno == EAGAIN { return 0 }
            if errno != EINTR { throw TransferFiles.failure("written", path, number: errno) }
        }
    }

    /// Syncs the file to the disk and gives it its name.
    func finish() async throws {
        guard let names else { return }
        try await TransferFiles.executor.run {
            while fsync(self.descriptor) != 0 {
                // Some file systems cannot sync, and report it with this error.
                if errno == EINVAL { break }
                if errno != EINTR { throw TransferFiles.failure("written", self.path, number: errno) }
            }
            guard unsafe rename(names.part, names.final) == 0 else {
                throw TransferFiles.failure("written", self.path, number: errno)
            }
        }
    }

    /// Removes an incomplete file. This is not left to `deinit`, because the program may end before it.
    func discard() async {
        guard let names else { return }
        _ = try? await TransferFiles.executor.run { unsafe unlink(names.part) }  // nothing throws
    }
}
