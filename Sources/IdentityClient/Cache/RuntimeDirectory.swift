// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

/// Where what need not outlast a session is kept: the same place for all programs of a user, whatever their environment.
package enum RuntimeDirectory {
    /// `/run/user/<effective user>/swift-identity-client` where that is ours, else a place in the home that the user
    /// database names.
    /// - Throws: `.cache` when there is no such home either.
    package static func path() throws -> String {
        let user = SystemCall.effectiveUser
        let directory = "/run/user/\(user)"
        if let status = try? SystemCall.status(of: directory, followingLinks: false),  // unreadable: not ours
            status.kind == .directory, status.owner == user, status.mode & 0o077 == 0
        {
            return "\(directory)/swift-identity-client"
        }
        guard let home = SystemCall.home(ofUser: user), home.hasPrefix("/") else {
            throw AuthenticationError(.cache, "User \(user) has neither a runtime directory nor a home directory.")
        }
        return FileCacheLocation.clean("\(home)/.local/state/swift-identity-client/run")
    }
}
