// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials

/// A directory for one test, removed with this object.
final class TemporaryDirectory: Sendable {
    let path: String

    init() throws {
        path = FileManager.default.temporaryDirectory.appending(path: "identity-client-\(UUID().uuidString)").path
        try FileManager.default.createDirectory(
            atPath: path,
            withIntermediateDirectories: false,
            attributes: [.posixPermissions: 0o700]
        )
    }

    deinit {
        try? FileManager.default.removeItem(atPath: path)  // nothing to be done about it
    }

    /// Returns the contents of all files below a directory, for a search.
    func contents(of directory: String) throws -> String {
        let root = "\(path)/\(directory)"
        return try FileManager.default.subpathsOfDirectory(atPath: root)
            .compactMap { FileManager.default.contents(atPath: "\(root)/\($0)") }
            .map { String(decoding: $0, as: UTF8.self) }
            .joined(separator: "\n")
    }
}
