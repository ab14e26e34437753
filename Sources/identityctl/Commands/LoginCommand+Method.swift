// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import IdentityClient
import IdentityKeyring
import IdentityResources

// The way in which the person signs in, and the options that it has no use for.
extension LoginCommand {
    /// The place where the person signs in.
    enum Method {
        case browser, manual, deviceCode, grant
    }

    /// Returns the chosen method. An option wins over the variable of another method.
    func method(_ environment: Variables) throws -> Method {
        if grant.type != nil { return .grant }
        if start || finish { return .manual }
        if try !manual && environment.isOn("device-code", deviceCode) { return .deviceCode }
        if try environment.isOn("manual", manual) { return .manual }
        return reasonForPasting(try browser.command(environment)) == nil ? .browser : .manual
    }

    /// Refuses the options that have no meaning for `method`. Their variables are ignored: they may be for other sign-ins.
    func refuseUnusedOptions(by method: Method) throws {
        switch method {
        case .browser: break
        case .manual:
            let ignored =
                (browser.browser == nil ? [] : ["--browser"]) + (privateWindow ? ["--private-window"] : [])
            let step = start ? "--start" : finish ? "--finish" : nil
            let name = step ?? (manual ? "--manual" : Variables.variable(for: "manual"))
            try refuse(ignored, beside: name, which: "opens no browser")
            guard finish else { return }
            let others = [
                ("--timeout", signIn.timeout), ("--claims", token.claims), ("--account", account.account),
                ("--scheme", scheme.scheme), ("--scope", token.scopes.first),
                ("--parameter", signIn.extraParameters.first),
            ]
            try refuse(
                optionsOfPage + others.filter { $0.1 != nil }.map(\.0),
                beside: "--finish",
                which: "ends a sign-in as --start began it"
            )
        case .deviceCode:
            let name = deviceCode ? "--device-code" : Variables.variable(for: "device-code")
            try refuse(optionsOfPage, beside: name, which: "shows no page here")
        case .grant:
            let others = [
                ("--claims", token.claims), ("--scheme", scheme.scheme), ("--parameter", signIn.extraParameters.first),
            ]
            try refuse(
                optionsOfPage + others.filter { $0.1 != nil }.map(\.0),
                beside: "--grant",
                which: "shows no page"
            )
        }
    }

    /// The given options of the sign-in page and of the browser's return.
    private var optionsOfPage: [String] {
        let groups = OptionGroups(signIn: signIn, browser: browser)
        return Setting.ofPage.filter(groups.isGiven).map(\.option)
            + (privateWindow ? ["--private-window"] : [])
    }

    private func refuse(_ ignored: [String], beside name: String, which reason: String) throws {
        guard !ignored.isEmpty else { return }
        throw UsageError(
            "\(ignored.joined(separator: ", ")): not together with \(name), which \(reason). Leave one or the other out."
        )
    }
}

// A sign-in at a terminal that goes on without a browser and without a keyring, where it would end with an error elsewhere.
extension LoginCommand {
    /// The reason why the person pastes the address at which a browser elsewhere ended; `nil` if a browser opens here, if no person
    /// types here, or if the command line says where the browser comes back.
    func reasonForPasting(_ command: [String]?) -> String? {
        guard Questions.arePossible, browser.browser == nil, !privateWindow, signIn.redirectURI == nil,
            signIn.redirectPorts == nil
        else { return nil }
        return InteractionEnvironment.current(browserCommand: command).browserProblem
    }

    /// Returns the command with the store that the person chooses, where there is no keyring and no store was chosen yet.
    ///
    /// - Throws: `UsageError`, the errors of `Questions`, and of a key that cannot be made.
    func choosingStore(_ session: Session) async throws -> LoginCommand {
        let environment = session.environment
        guard !session.isJSON, !start, !finish, Questions.arePossible,
            try provider.cacheChoice(environment) == .auto, try await TokenPlace.lacksKeyring()
        else { return self }
        // A resource's client is registered before it is known, and kept in this group.
        let group = try provider.group(environment) ?? ClientSoftware.identityctl.group
        guard let policy = CacheChoice.auto.policy,
            try await CacheChoice.desktop(policy, logger: session.logger).rememberedStore(of: group) == nil
        else { return self }
        var command = self
        command.provider.cache = try await TokenPlace.chosen(Questions(session.console), environment["HOME"])
        return command
    }
}
