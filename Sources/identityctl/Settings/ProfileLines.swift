// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

/// The lines that can stand below options and variables: those of profiles, and of known resources.
struct ProfileLines: Sendable {
    /// Returns the profile with a name.
    let named: @Sendable (ProfileName) throws -> Profile
    /// Returns the default profile, or else the only one.
    let usual: @Sendable () throws -> Profile?
    /// Returns the profile that serves an address, for a username if it names one.
    let serving: @Sendable (ServedAddress, _ username: String?) throws -> Profile?
    /// Returns what is known of the resource at an address.
    let known: @Sendable (_ address: String) throws -> Profile?
}

extension ProfileLines {
    /// The lines on this computer, of which only those are read that are asked for.
    ///
    /// - Parameter warn: Called with the reason why a profile that could serve an address does not count.
    static func onDisk(_ variables: Variables, warn: @escaping @Sendable (String) -> Void = { _ in }) -> ProfileLines {
        ProfileLines(
            named: { try ProfileDirectory(variables).profile(named: $0) },
            usual: {
                // Without a home directory there is none.
                guard let directory = try? ProfileDirectory(variables) else { return nil }
                return try directory.usualName().map(directory.profile(named:))
            },
            serving: { address, username in
                let directory: ProfileDirectory
                do {
                    directory = try ProfileDirectory(variables)
                } catch {
                    warn("No profile gives a token for \(address.text). \(error)")
                    return nil
                }
                return try directory.profile(serving: address, for: username) { warn("Warning: \($0)") }
            },
            known: { try KnownResources(variables).profile(for: $0) }
        )
    }
}
