// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

/// The directory for data of a session: the same for all programs of a user, whatever their environment.
package enum RuntimeDirectory {
    private static let signsOfSnaps = Set("abcdefghijklmnopqrstuvwxyz0123456789-".utf8)

    /// `/run/user/<effective user>/swift-identity-client` if this user owns it, otherwise a place in the home of the
    /// user database. A program in a snap may write only in its own directory there, which only programs of that snap
    /// share.
    /// - Parameters:
    ///   - root: The parent of the users' directories.
    ///   - snap: The snap's name.
    /// - Throws: `.cache` if there is no such home either.
    package static func path(
        in root: String = "/run/user",
        snap: String? = SystemCall.environment("SNAP_NAME")
    ) throws -> String {
        let user = SystemCall.effectiveUser
        var directories = ["\(root)/\(user)"]
        if let snap, !snap.isEmpty, snap.utf8.allSatisfy(signsOfSnaps.contains) {
            directories.insert("\(root)/\(user)/snap.\(snap)", at: 0)
        }
        for directory in directories {
            if let status = try? SystemCall.status(of: directory, followingLinks: false),  // unreadable: not ours
                status.kind == .directory, status.owner == user, status.mode & 0o077 == 0
            {
                return "\(directory)/swift-identity-client"
            }
        }
        guard let home = SystemCall.home(ofUser: user), home.hasPrefix("/") else {
            throw AuthenticationError(.cache, "User \(user) has neither a runtime directory nor a home directory.")
        }
        return FilePath.normalized("\(home)/.local/state/swift-identity-client/run")
    }
}
