// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

extension ProviderOptions {
    /// Returns the variables above the lines of the profile that applies, and those of a known resource that is named.
    ///
    /// That is the profile named by `--profile` or its variable, or else the default profile or the only one, unless the
    /// command line or the environment names a client or a provider: then its lines would belong to another one.
    ///
    /// - Throws: `UsageError` if the profile does not exist or cannot be used.
    func environment(above variables: Environment) throws -> Environment {
        guard let given = try variables.given("resource", resource), try variables.given("issuer", issuer) == nil else {
            return try environmentOfProfile(above: variables)
        }
        let hasProfile = try variables.given("profile", profile) != nil
        var named = hasProfile ? try environmentOfProfile(above: variables).profile : nil
        if let profile = named, profile.own("resource") != given.text {
            named = profile.forAnother()
        } else if named?.leavesToSearch == false {
            return variables.above(named)
        }
        guard let known = try KnownResources(variables).profile(for: given.text) else { return variables.above(named) }
        return variables.above(named?.below(known) ?? known)
    }

    private func environmentOfProfile(above variables: Environment) throws -> Environment {
        if let given = try variables.given("profile", profile) {
            guard given.text != ProfileName.none else { return variables }
            let profile = try ProfileDirectory(variables).profile(named: try ProfileName(given))
            return variables.above(namesOne(variables) ? profile.forAnother() : profile)
        }
        guard !namesOne(variables), let directory = try? ProfileDirectory(variables),
            let name = try directory.usualName()
        else { return variables }
        return variables.above(try directory.profile(named: name))
    }
}
