// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

/// A directory that holds tokens: opened only if it is safe, and made so that it is.
enum SecureDirectory {
    /// Opens the directory `name` in `path`, or gives `nil` when one of them does not exist.
    /// - Throws: `.cachePermissions` when one of them is a link, another user's, or open to others' writing.
    static func open(_ path: String, _ name: String) throws -> Descriptor? {
        guard let root = try Descriptor.directory(path) else { return nil }
        try SecureFile.checkDirectory(root.status(), path: root.path)
        guard let directory = try root.directory(name) else { return nil }
        try SecureFile.checkDirectory(directory.status(), path: directory.path)
        return directory
    }

    /// Makes the directory `name` in `path`, and all above it that is missing, for the user alone (0700).
    /// - Throws: `.cachePermissions` for a program under `sudo` in a place that is another user's.
    static func create(_ path: String, _ name: String) throws {
        let parents = ancestors(of: path)
        try refuseForeignHome(parents + [path])
        for directory in parents + [path, "\(path)/\(name)"] {
            // What is there may be anything; it is checked when it is opened.
            if try SystemCall.status(of: directory, followingLinks: true) != nil { continue }
            guard try SystemCall.makeDirectory(directory) else { continue }
            try Descriptor.directory(parent(of: directory))?.synchronize()
        }
    }

    /// With `sudo`, a program would leave directories behind that their owner can no longer write to.
    private static func refuseForeignHome(_ directories: [String]) throws {
        guard SystemCall.effectiveUser == 0, let caller = SystemCall.environment("SUDO_UID").flatMap(UInt32.init),
            caller != 0
        else { return }
        for directory in directories {
            guard let status = try SystemCall.status(of: directory, followingLinks: true), status.owner == caller
            else { continue }
            throw SecureFile.refusal(
                "\(directory) belongs to user \(caller), and this program runs under sudo: tokens kept here would be out of "
                    + "that user's reach. Run it without sudo, or name a directory of root's."
            )
        }
    }

    /// The directory at `path`, or the one nearest above it that there is.
    static func nearest(to path: String) throws -> String {
        let upwards = [path] + ancestors(of: path).reversed()
        return try upwards.first { try SystemCall.status(of: $0, followingLinks: true) != nil } ?? "/"
    }

    /// The directories above `path`, the outermost first, without the root.
    private static func ancestors(of path: String) -> [String] {
        let parts = path.split(separator: "/")
        return (1..<max(1, parts.count)).map { "/" + parts.prefix($0).joined(separator: "/") }
    }

    private static func parent(of path: String) -> String {
        "/" + path.split(separator: "/").dropLast().joined(separator: "/")
    }
}
