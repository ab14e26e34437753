// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials

/// A directory of its own for one test, removed with it.
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

    /// Everything in the files of a directory below, for a search.
    func contents(of directory: String) throws -> String {
        let root = "\(path)/\(directory)"
        return try FileManager.default.subpathsOfDirectory(atPath: root)
            .compactMap { FileManager.default.contents(atPath: "\(root)/\($0)") }
            .map { String(decoding: $0, as: UTF8.self) }
            .joined(separator: "\n")
    }
}
