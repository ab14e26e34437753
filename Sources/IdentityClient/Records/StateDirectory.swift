// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import SystemSupport

/// The directory for persistent data of a user's programs.
package enum StateDirectory {
    /// The directory of this library: in `$XDG_STATE_HOME` if that is absolute, otherwise in `~/.local/state` or the
    /// sandbox's counterpart.
    ///
    /// `$HOME` counts only if it is the user's own directory: `sudo` may leave another user's there.
    /// - Throws: `.cache` if the user has no home, or if its name is no UTF-8.
    package static func path() throws -> String {
        let user = SystemCall.effectiveUser
        let path = path(
            home: ownHome(user) ?? SystemCall.home(ofUser: user),
            isFlatpak: SystemCall.exists("/.flatpak-info"),
            variable: SystemCall.environment
        )
        for name in ["XDG_STATE_HOME", "HOME"] { try FilePath.checkReadable(SystemCall.environment(name), of: name) }
        if let path {
            try FilePath.checkReadable(path, of: "the home directory of user \(user)")
            return path
        }
        throw AuthenticationError(
            .cache,
            "User \(user) has no home directory to keep tokens in. Set XDG_STATE_HOME to an absolute path, or name a directory."
        )
    }

    /// The same as a pure decision.
    static func path(home: String?, isFlatpak: Bool, variable: (String) -> String?) -> String? {
        if let stateHome = variable("XDG_STATE_HOME"), stateHome.hasPrefix("/") {
            return FilePath.normalized("\(stateHome)/swift-identity-client")
        }
        guard let home, home.hasPrefix("/") else { return nil }
        let base = isFlatpak ? inFlatpak(home, variable) : inSnap(home, variable)
        return FilePath.normalized("\(base ?? home)/.local/state/swift-identity-client")
    }

    /// The directory that Flatpak 1.13 and later set as `XDG_STATE_HOME`: the rest of the home may be lost when the
    /// program ends.
    private static func inFlatpak(_ home: String, _ variable: (String) -> String?) -> String? {
        guard let id = variable("FLATPAK_ID"), !id.contains("/"), !id.hasPrefix(".") else { return nil }
        return "\(home)/.var/app/\(id)"
    }

    /// The directory that all revisions of a snap share. In a revision's own home, going back to an older revision
    /// would restore spent refresh tokens.
    private static func inSnap(_ home: String, _ variable: (String) -> String?) -> String? {
        guard let data = variable("SNAP_USER_DATA"), FilePath.normalized(data) == FilePath.normalized(home),
            let common = variable("SNAP_USER_COMMON"), common.hasPrefix("/")
        else { return nil }
        return common
    }

    private static func ownHome(_ user: UInt32) -> String? {
        guard let home = SystemCall.environment("HOME"), home.hasPrefix("/"),
            let status = try? SystemCall.status(of: home, followingLinks: true),  // unreadable: not believed
            status.kind == .directory, status.owner == user
        else { return nil }
        return home
    }
}

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
