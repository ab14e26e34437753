// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

/// Where a user's programs keep what should outlast them.
enum StateDirectory {
    /// The directory of this library: in `$XDG_STATE_HOME` if that is absolute, else in `~/.local/state`.
    ///
    /// `$HOME` is believed only when it is the user's own directory: `sudo` may leave another user's there.
    /// - Throws: `.cache` when the user has no home.
    static func path() throws -> String {
        let user = SystemCall.effectiveUser
        let path = path(
            stateHome: SystemCall.environment("XDG_STATE_HOME"),
            home: ownHome(user) ?? SystemCall.home(ofUser: user)
        )
        if let path { return path }
        throw AuthenticationError(
            .cache,
            "User \(user) has no home directory to keep tokens in. Set XDG_STATE_HOME to an absolute path, or name a directory."
        )
    }

    /// The same as a pure decision.
    static func path(stateHome: String?, home: String?) -> String? {
        if let stateHome, stateHome.hasPrefix("/") {
            return FileCacheLocation.clean("\(stateHome)/swift-identity-client")
        }
        guard let home, home.hasPrefix("/") else { return nil }
        return FileCacheLocation.clean("\(home)/.local/state/swift-identity-client")
    }

    private static func ownHome(_ user: UInt32) -> String? {
        guard let home = SystemCall.environment("HOME"), home.hasPrefix("/"),
            let status = try? SystemCall.status(of: home, followingLinks: true),  // unreadable: not believed
            status.kind == .directory, status.owner == user
        else { return nil }
        return home
    }
}
