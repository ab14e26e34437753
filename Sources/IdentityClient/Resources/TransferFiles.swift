// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Glibc
import OAuthWire

/// Where files of transfers are read and written: calls that may wait for a disk.
enum TransferFiles {
    static let executor = QueueExecutor("identity-client.transfers", runsTogether: true)

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

/// A file that gets its name when it is complete. Dropped before, it leaves nothing.
final class PartialFile: Sendable {
    private let path: String
    private let partPath: String
    private let descriptor: Int32

    init(for path: String) async throws {
        let partPath = "\(path).part\(SecureRandom.token(bytes: 6))"
        descriptor = try await TransferFiles.executor.run {
            var status = stat()
            if unsafe stat(path, &status) == 0, status.st_mode & S_IFMT == S_IFDIR {
                throw TransferFiles.failure("written", path, number: EISDIR)
            }
            let descriptor = unsafe Glibc.open(partPath, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o666)
            guard descriptor >= 0 else { throw TransferFiles.failure("written", path, number: errno) }
            return descriptor
        }
        self.path = path
        self.partPath = partPath
    }

    deinit {
        // After `finish` nothing has this name any more.
        unsafe unlink(partPath)
        Glibc.close(descriptor)
    }

    func write(_ bytes: [UInt8]) async throws {
        try await TransferFiles.executor.run {
            var rest = bytes[...]
            while !rest.isEmpty {
                let count = unsafe rest.withUnsafeBytes {
                    unsafe Glibc.write(self.descriptor, $0.baseAddress, $0.count)
                }
                if count > 0 {
                    rest = rest.dropFirst(count)
                } else if errno != EINTR {
                    throw TransferFiles.failure("written", self.path, number: errno)
                }
            }
        }
    }

    /// Puts it on the disk, and in its place.
    func finish() async throws {
        try await TransferFiles.executor.run {
            while fsync(self.descriptor) != 0 {
                // Some file systems cannot, and say so in this way.
                if errno == EINVAL { break }
                if errno != EINTR { throw TransferFiles.failure("written", self.path, number: errno) }
            }
            guard unsafe rename(self.partPath, self.path) == 0 else {
                throw TransferFiles.failure("written", self.path, number: errno)
            }
        }
    }
}
