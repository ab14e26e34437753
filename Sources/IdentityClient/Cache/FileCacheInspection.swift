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

    /// Looks at the directory, and makes nothing.
    package func inspect() throws -> FileCacheInspection {
        let path = try location.path()
        do {
            guard let directory = try Descriptor.directory(path) else {
                return FileCacheInspection(path: path, mode: nil, problem: nil)
            }
            let status = try directory.status()
            do {
                try SecureFile.checkDirectory(status, path: path)
                return FileCacheInspection(path: path, mode: status.mode, problem: nil)
            } catch {
                return FileCacheInspection(
                    path: path,
                    mode: status.mode,
                    problem: error as? AuthenticationError
                )
            }
        } catch {
            return FileCacheInspection(
                path: path,
                mode: nil,
                problem: AuthenticationError.fromFileCache(error) as? AuthenticationError
            )
        }
    }
}
