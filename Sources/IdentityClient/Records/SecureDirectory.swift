// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Glibc
package import SystemSupport

/// A directory for tokens, opened only if it is safe, and created safely.
package enum SecureDirectory {
    /// Opens the directory `name` in `path`; returns `nil` if one of them does not exist.
    /// - Throws: `.cachePermissions` if one of them is a link, another user's, or writable for others.
    package static func open(_ path: String, _ name: String) throws -> Descriptor? {
        guard let root = try Descriptor.directory(path) else { return nil }
        try SecureFile.checkDirectory(root.status(), path: root.path)
        guard let directory = try root.directory(name) else { return nil }
        try SecureFile.checkDirectory(directory.status(), path: directory.path)
        return directory
    }

    /// Creates the directory `name` in `path`, with all missing directories above, only for the user (0700).
    /// - Throws: `.cachePermissions` for a program under `sudo` in another user's directory.
    package static func create(_ path: String, _ name: String) throws {
        let parents = ancestors(of: path)
        try refuseForeignHome(of: "\(path)/\(name)")
        for directory in parents + [path, "\(path)/\(name)"] {
            // An existing entry may be anything; opening checks it.
            if try SystemCall.status(of: directory, followingLinks: true) != nil { continue }
            guard try SystemCall.makeDirectory(directory) else { continue }
            try Descriptor.synchronizeDirectory(FilePath.split(directory).directory)
        }
    }

    /// Creates the directory of the file at `path`, if there is none, in the same way.
    package static func create(forFile path: String) throws {
        let directory = FilePath.split(path).directory
        guard try Descriptor.directory(directory) == nil else { return }
        let (parent, name) = FilePath.split(directory)
        try create(parent, name)
    }

    /// Throws if a program under `sudo` would write a file or directory of root's into its caller's directory: the caller could
    /// no longer write there.
    ///
    /// - Parameter path: The absolute path of what would be written.
    /// - Throws: `.cachePermissions`.
    package static func refuseForeignHome(of path: String) throws {
        guard SystemCall.effectiveUser == 0, let caller = SystemCall.environment("SUDO_UID").flatMap(UInt32.init),
            caller != 0
        else { return }
        for directory in ancestors(of: path) {
            guard let status = try SystemCall.status(of: directory, followingLinks: true), status.owner == caller
            else { continue }
            throw SecureFile.refusal(
                "\(directory) belongs to user \(caller), and this program runs under sudo: what it writes here would be out of "
                    + "that user's reach. Run it without sudo, or name a directory of root's."
            )
        }
    }

    /// The directory at `path`, or the nearest existing directory above.
    static func nearest(to path: String) throws -> String {
        let upwards = [path] + ancestors(of: path).reversed()
        return try upwards.first { try SystemCall.status(of: $0, followingLinks: true) != nil } ?? "/"
    }

    /// The directories above `path`, the outermost first, without the root.
    private static func ancestors(of path: String) -> [String] {
        let parts = FilePath.parts(of: path)
        return (1..<max(1, parts.count)).map { "/" + parts.prefix($0).joined(separator: "/") }
    }
}
