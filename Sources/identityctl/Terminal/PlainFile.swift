// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Glibc
import IdentityClient
import SystemSupport

/// A person's file that is read as a whole.
enum PlainFile {
    /// Returns the content and the mode of a file; `nil` if there is none. A FIFO does not block.
    ///
    /// - Parameters:
    ///   - limit: The maximum number of bytes that are read. Ask for one more than a file may have.
    ///   - check: Throws an error for a file that must not be read.
    /// - Throws: `SystemFailure`, and the errors of `check`.
    static func read(
        _ path: String,
        atMost limit: Int,
        check: (stat) throws -> Void
    ) throws -> (bytes: [UInt8], mode: mode_t)? {
        let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)
        guard descriptor >= 0 else {
            if errno == ENOENT { return nil }
            throw unreadable(path)
        }
        defer { close(descriptor) }
        var status = stat()
        guard unsafe fstat(descriptor, &status) == 0 else {
            throw SystemFailure("\(path.printable) cannot be read", number: errno)
        }
        try check(status)
        var bytes = [UInt8](repeating: 0, count: limit)
        var length = 0
        while length < limit {
            let count = unsafe bytes.withUnsafeMutableBytes { buffer in
                unsafe Glibc.read(descriptor, buffer.baseAddress?.advanced(by: length), limit - length)
            }
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { throw SystemFailure("\(path.printable) cannot be read", number: errno) }
            if count == 0 { break }
            length += count
        }
        return (Array(bytes[..<length]), status.st_mode)
    }

    /// The error of a file or directory that `errno` says could not be opened.
    static func unreadable(_ path: String) -> SystemFailure { refusal(path, "cannot be read") }

    /// Names the file or directory of another user that is in the way, in a directory of this user's.
    static func refusal(_ path: String, _ what: String) -> SystemFailure {
        let number = errno
        var place = path
        while number == EACCES, place != "/", place != "." {
            var (status, above) = (stat(), stat())
            let parent = directory(of: place)
            if unsafe lstat(place, &status) == 0, unsafe stat(parent, &above) == 0 {
                guard status.st_uid != geteuid(), above.st_uid == geteuid() else {
                    place = parent
                    continue
                }
                let remedy = "sudo chown -hR \(geteuid()) \(place.shellWord)"
                return SystemFailure(
                    "\(path.printable) \(what), because \(place.printable) belongs to user \(status.st_uid). If a command under "
                        + "sudo made it, run: \(remedy)"
                )
            }
            place = parent
        }
        return SystemFailure("\(path.printable) \(what)", number: number)
    }
}
