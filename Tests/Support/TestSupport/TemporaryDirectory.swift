// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Glibc

/// A directory of its own for one test, for this user alone. It is removed with the object.
package final class TemporaryDirectory: Sendable {
    package let path: String

    /// The usual place, or a shorter one: a socket's path has at most 107 bytes.
    private static var shortRoot: String {
        let root = FileManager.default.temporaryDirectory.path
        return root.utf8.count > 12 ? "/tmp" : root
    }

    package init(in root: String? = nil) throws {
        let root = root ?? Self.shortRoot
        path = "\(root.hasSuffix("/") ? String(root.dropLast()) : root)/identity-client-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
        try CallFailed.check(unsafe chmod(path, 0o700), "chmod")
    }

    deinit {
        try? FileManager.default.removeItem(atPath: path)  // no test depends on it
    }

    /// The names in a directory below, hidden ones included.
    package func names(in directory: String) throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: "\(path)/\(directory)").sorted()
    }

    /// Everything in the files of a directory below, for a search.
    package func contents(of directory: String) throws -> String {
        let root = "\(path)/\(directory)"
        return try FileManager.default.subpathsOfDirectory(atPath: root)
            .compactMap { FileManager.default.contents(atPath: "\(root)/\($0)") }
            .map { String(decoding: $0, as: UTF8.self) }
            .joined(separator: "\n")
    }
}

/// The reason why a test's own call of the system failed.
package struct CallFailed: Error {
    package let call: String
    package let number: Int32

    package init(call: String) {
        number = errno
        self.call = call
    }

    package static func check(_ result: Int32, _ call: String) throws {
        if result < 0 { throw CallFailed(call: call) }
    }
}

package func permissions(_ path: String) throws -> UInt32 {
    var status = stat()
    try CallFailed.check(unsafe lstat(path, &status), "lstat")
    return status.st_mode & 0o7777
}
