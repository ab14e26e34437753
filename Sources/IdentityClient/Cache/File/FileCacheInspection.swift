// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

/// What is to be said about the directory of a FileTokenCache before it is used.
package struct FileCacheInspection: Sendable {
    /// The directory.
    package let path: String
    /// Its permission bits, or `nil` when it does not exist yet.
    package let mode: UInt32?
    /// Why it cannot be used.
    package let problem: AuthenticationError?
}

extension FileTokenCache {
    /// The directory in which the groups' directories are.
    /// - Throws: `.cache` when the user has no home.
    package func directory() throws -> String {
        try location.path()
    }

    /// Looks at the directory, or at what it would be made in, and makes nothing.
    package func inspect() throws -> FileCacheInspection {
        let path = try location.path()
        var mode: UInt32?
        do {
            if let status = try Descriptor.directory(path)?.status() {
                mode = status.mode
                try SecureFile.checkDirectory(status, path: path)
            }
            try SystemCall.checkWritable(SecureDirectory.nearest(to: path))
            return FileCacheInspection(path: path, mode: mode, problem: nil)
        } catch {
            let problem = AuthenticationError.fromFileCache(error) as? AuthenticationError
            return FileCacheInspection(path: path, mode: mode, problem: problem)
        }
    }
}
