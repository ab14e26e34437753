// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import IdentityClient
import OAuthWire

extension Profile {
    /// Checks each line as the commands do that read it.
    ///
    /// - Throws: `UsageError` that names the file and the line.
    func check(_ variables: Environment) throws {
        let environment = Environment(["HOME": variables["HOME"] ?? ""]).above(self)
        if let resource = given("resource"), leavesToSearch {
            // The first sign-in finds the rest.
            guard WebAddress(resource.text) != nil else { throw resource.error(ProviderOptions.noResource) }
        } else {
            _ = try ProviderOptions.parse([]).configuration(environment)
        }
        let (signIn, token) = (try SignInOptions.parse([]), try TokenOptions.parse([]))
        _ = try signIn.parameters(token, environment)
        if try !environment.isOn("device-code", false) {
            _ = try signIn.redirect(environment, isManual: try environment.isOn("manual", false))
        }
        _ = try WantedToken(token, AccountOption.parse([]), SilentOptions.parse([]), environment)
        _ = try WantedExchange(ExchangeOptions.parse([]), environment)
        _ = try RegistrationOptions.parse([]).checked(environment)
        _ = try given("post-logout-redirect-uri").map { try SignInOptions.loopback($0, ports: nil) }
        _ = try SchemeOption.parse([]).chosen(environment)
        _ = try PublicKeyOption.parse([]).path(environment)
        _ = try OutputOptions.parse([]).level(environment)
        for setting in Setting.all where setting.isLine && setting.kind == .switch {
            _ = try environment.isOn(setting.name, false)
        }
        _ = try SignInTurn.isAllowed(environment)
        _ = try servedAddresses()
        _ = try AgentConfirmation(given("agent-confirm"))
        guard lines.contains(where: { $0.name.hasPrefix("aws-") }) else { return }
        // The role itself may be an option of each call.
        let role = given("aws-role-arn") == nil ? ["--role-arn": "arn:aws:iam::123456789012:role/any"] : [:]
        _ = try AWSRole(role, environment)
    }
}
