// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

/// Where what need not outlast a session is kept: the same place for all programs of a user, whatever their environment.
package enum RuntimeDirectory {
    private static let signsOfSnaps = Set("abcdefghijklmnopqrstuvwxyz0123456789-".utf8)

    /// `/run/user/<effective user>/swift-identity-client` where that is ours, else a place in the home that the user
    /// database names. A program in a snap may write in its own directory there and nowhere else: only programs of that
    /// snap share it.
    /// - Parameters:
    ///   - root: Where the users' directories are.
    ///   - snap: The snap's name.
    /// - Throws: `.cache` when there is no such home either.
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
