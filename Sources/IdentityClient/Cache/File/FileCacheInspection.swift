// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

/// The state of a FileTokenCache's directory before its first use.
package struct FileCacheInspection: Sendable {
    /// The directory's path.
    package let path: String
    /// The directory's permission bits, or `nil` if it does not exist yet.
    package let mode: UInt32?
    /// The reason why the directory cannot be used; `nil` if it can.
    package let problem: AuthenticationError?
}

extension FileTokenCache {
    /// Looks at the directory, or at what it would be made in, and writes a file there that is removed at once.
    package func inspect() throws -> FileCacheInspection {
        let path = try directory()
        var mode: UInt32?
        do {
            if let status = try Descriptor.directory(path)?.status() {
                mode = status.mode
                try SecureFile.checkDirectory(status, path: path)
            }
            try Self.tryToWrite(in: SecureDirectory.nearest(to: path))
            return FileCacheInspection(path: path, mode: mode, problem: nil)
        } catch {
            let problem = AuthenticationError.fromFileCache(error) as? AuthenticationError
            return FileCacheInspection(path: path, mode: mode, problem: problem)
        }
    }

    /// A full disk shows when something is written.
    private static func tryToWrite(in path: String) throws {
        try SystemCall.checkWritable(path)
        guard let directory = try Descriptor.directory(path) else { return }
        let name = ".new-inspection-\(String(UInt64.random(in: .min ... .max), radix: 16))"
        let file = try directory.newFile(name)
        defer { try? directory.remove(name) }  // What was written counts.
        try file.write([UInt8](repeating: 0, count: FileWrite.usualSize))
    }
}
