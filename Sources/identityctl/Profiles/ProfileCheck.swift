// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import IdentityClient
import OAuthWire

/// The check of a profile's lines by the commands that read them, before the profile is written.
enum ProfileCheck {
    /// Checks each line as the commands do that read it.
    ///
    /// - Throws: `UsageError` that names the file and the line.
    static func check(_ profile: Profile, _ variables: Variables) throws {
        let environment = Variables(["HOME": variables["HOME"] ?? ""]).above(profile)
        if try GNOMEAccounts(profile) != nil {
            // The desktop has client and provider.
        } else if let resource = profile.given("resource"), profile.leavesToSearch {
            // The first sign-in finds the rest.
            guard WebAddress(resource.text) != nil else { throw resource.error(ProviderOptions.noResource) }
        } else {
            _ = try ProviderOptions.ungiven.configuration(environment)
        }
        let (signIn, token) = (try SignInOptions.ungiven, try TokenOptions.ungiven)
        _ = try signIn.parameters(token, environment)
        if try !environment.isOn("device-code", false) {
            _ = try signIn.redirect(environment, isManual: try environment.isOn("manual", false))
        }
        _ = try WantedToken(token, AccountOption.ungiven, SilentOptions.ungiven, environment)
        _ = try WantedExchange(ExchangeOptions.ungiven, environment)
        _ = try RegistrationOptions.ungiven.checked(environment)
        _ = try profile.given("post-logout-redirect-uri").map { try SignInOptions.loopback($0, ports: nil) }
        _ = try SchemeOption.ungiven.chosen(environment)
        _ = try PublicKeyOption.ungiven.path(environment)
        _ = try OutputOptions.ungiven.level(environment)
        for setting in Setting.all where setting.isLine && setting.kind == .switch {
            _ = try environment.isOn(setting.name, false)
        }
        _ = try Asking.isAllowed(environment)
        _ = try TokenReach(of: profile).served()
        _ = try AgentConfirmation(profile.given("agent-confirm"))
        if let lines = try ForwardLines(profile) {
            _ = try lines.route(profile, phantom: "", isSocket: true, environment.above(nil))
        }
        guard profile.lines.contains(where: { $0.name.hasPrefix("aws-") }) else { return }
        // The role itself may be an option of each call.
        let role = profile.given("aws-role-arn") == nil ? ["--role-arn": "arn:aws:iam::123456789012:role/any"] : [:]
        _ = try AWSRole(role, environment)
    }

    /// Replaces a profile by a changed text. One of the whole machine stays: the text becomes the person's own, which stands
    /// above it.
    ///
    /// - Parameters:
    ///   - before: The text that was changed.
    ///   - path: The file that the error of a mistake names.
    /// - Throws: `UsageError` for a line that a command would refuse, and if another program changed the profile meanwhile.
    static func change(
        _ name: ProfileName,
        from before: [UInt8],
        to text: [UInt8],
        namedAs path: String,
        in directory: ProfileDirectory,
        _ environment: Variables
    ) throws {
        let changed = try Profile(name, path: path, parsing: text)
        try check(changed, environment)
        try directory.checkServedAddresses(of: changed)
        guard try directory.text(of: name) == before else {
            throw UsageError("The profile '\(name)' was changed by another program meanwhile.")
        }
        try directory.write(String(decoding: text, as: UTF8.self), as: name, replaces: true)
    }
}
