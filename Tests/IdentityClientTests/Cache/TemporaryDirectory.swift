// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Glibc

/// A directory for one test, removed with it.
final class TemporaryDirectory: Sendable {
    let path: String

    init(in root: String = FileManager.default.temporaryDirectory.path) throws {
        path = "\(root.hasSuffix("/") ? String(root.dropLast()) : root)/identity-client-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
        _ = unsafe chmod(path, 0o700)
    }

    deinit {
        try? FileManager.default.removeItem(atPath: path)
    }

    /// The names in a subdirectory, including hidden ones.
    func names(in directory: String) throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: "\(path)/\(directory)").sorted()
    }
}

/// The failure of a system call that a test makes itself.
struct CallFailed: Error {
    let call: String
    let number = errno

    static func check(_ result: Int32, _ call: String) throws {
        if result < 0 { throw CallFailed(call: call) }
    }
}

func permissions(_ path: String) throws -> UInt32 {
    var status = stat()
    try CallFailed.check(unsafe lstat(path, &status), "lstat")
    return status.st_mode & 0o7777
}
