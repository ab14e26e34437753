// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import IdentityClient

extension LoginCommand {
    /// Returns the command that makes a profile of this sign-in's options and variables; `nil` where lines of a profile or of a known
    /// resource count already.
    func profileCommand(_ session: Session) throws -> String? {
        let environment = session.environment
        guard environment.profile == nil, let directory = try? ProfileDirectory(environment) else { return nil }
        let groups = OptionGroups(provider: provider, token: token)
        var options = SharedOptions(provider, token).without("--profile")
        // The store is remembered; another kind of cache is not.
        let isRemembered = try provider.cacheChoice(environment).policy != nil
        if isRemembered { options = options.without("--cache") }
        for setting in Setting.ofProvider + Setting.ofRequest where setting.isLine && !groups.isGiven(setting) {
            // A provider that options name replaces all variables for it.
            let isReplaced = provider.isOnCommandLine && setting.traits.contains(.namesProvider)
            guard !isReplaced, !["account", "scheme"].contains(setting.name), setting.name != "cache" || !isRemembered
            else { continue }
            if setting.kind == .switch {
                if try environment.isOn(setting.name, false) { options = options.adding(flag: setting.option) }
            } else {
                for given in environment.each(setting.name, []) {
                    options = options.adding(setting.option, given.text)
                }
            }
        }
        let address = try provider.authority(environment)?.url ?? ""
        let name = ProposedName.name(for: address, besides: (try? directory.names()) ?? [])
        return options.command("profile add \(name?.text ?? "NAME")")
    }
}
