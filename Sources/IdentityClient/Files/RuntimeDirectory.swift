// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

/// The directory for data of a session: the same for all programs of a user where the system has one for the user, whatever
/// their environment.
package enum RuntimeDirectory {
    private static let signsOfSnaps = Set("abcdefghijklmnopqrstuvwxyz0123456789-_".utf8)

    /// `/run/user/<effective user>/swift-identity-client` where that is ours, else a place in the home that the user database
    /// names, else `run` in the directory of the token files. A program in a snap may write in `snap.<instance>` there and
    /// nowhere else. snapd does not make that directory, so it is made here; only programs of that snap share it.
    /// - Parameters:
    ///   - root: Where the users' directories are.
    ///   - snap: The name of the snap, with the key of a parallel instance.
    ///   - state: The directory of the token files.
    /// - Throws: `.cache` when there is no such directory either.
    package static func path(
        in root: String = "/run/user",
        snap: String? = SystemCall.environment("SNAP_INSTANCE_NAME") ?? SystemCall.environment("SNAP_NAME"),
        state: @autoclosure () throws -> String = try StateDirectory.path()
    ) throws -> String {
        let user = SystemCall.effectiveUser
        let own = "\(root)/\(user)"
        if isPrivate(own, to: user) {
            if let snap, !snap.isEmpty, snap.utf8.allSatisfy(signsOfSnaps.contains) {
                let granted = "\(own)/snap.\(snap)"
                _ = try? SystemCall.makeDirectory(granted)  // A directory that cannot be made is not used.
                if isPrivate(granted, to: user) { return "\(granted)/swift-identity-client" }
            }
            return "\(own)/swift-identity-client"
        }
        if let home = SystemCall.home(ofUser: user), home.hasPrefix("/"),
            let status = try? SystemCall.status(of: home, followingLinks: true),  // A home that cannot be seen is none.
            status.kind == .directory && status.owner == user
        {
            return FilePath.normalized("\(home)/.local/state/swift-identity-client/run")
        }
        return try state() + "/run"
    }

    /// Whether `path` is a directory that `user` alone can use. One that cannot be read is not.
    private static func isPrivate(_ path: String, to user: UInt32) -> Bool {
        guard let status = try? SystemCall.status(of: path, followingLinks: false) else { return false }
        return status.kind == .directory && status.owner == user && status.mode & 0o077 == 0
    }
}
