// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import IdentityClient
import IdentityTesting

/// The setup of the two identity providers.
enum Providers {
    static let clientID: ClientID = "7d1f0f5c-5a3e-4a0e-9c41-2f0d3f6f9a10"
    static let b2cTenant = "contoso.onmicrosoft.com"
    /// Allows the loopback interface, the programs' own schemes, and the address that programs with their own web view
    /// have long used.
    private static let client = TestIdentityProvider.Client(
        id: clientID,
        redirectURIs: [
            "http://localhost", "http://127.0.0.1", "urn:ietf:wg:oauth:2.0:oob", "io.github.identity.quickstart://auth",
            "io.github.identity.graphsearch://auth", "io.github.identity.todolist://auth",
        ]
    )
    static let tasksScope = "https://contoso.onmicrosoft.com/tasks/"
    static let graphScope = "https://graph.microsoft.com/"

    /// The scopes that only an administrator can consent to, as in a real directory.
    private static let administratorsScopes = ["User.Read.All", "Directory.Read.All", "Directory.AccessAsUser.All"]

    static func entra() throws -> TestIdentityProvider {
        var settings = TestIdentityProvider.Settings(.entra)
        settings.adminConsentScopes = Set(administratorsScopes + administratorsScopes.map { graphScope + $0 })
        settings.offersPeople = true
        return try TestIdentityProvider(
            profile: .entra,
            clients: [client],
            people: DirectoryPerson.all.map(\.account),
            settings: settings
        )
    }

    static func b2c() throws -> TestIdentityProvider {
        let flows: [String: TestIdentityProvider.UserFlow] = [
            "b2c_1_susi": .signUpOrSignIn, "b2c_1_edit": .editProfile, "b2c_1_reset": .passwordReset,
        ]
        let profile = TestIdentityProvider.Profile.b2c(
            tenant: b2cTenant,
            policies: Array(flows.keys.sorted().reversed())
        )
        var settings = TestIdentityProvider.Settings(profile)
        settings.userFlows = flows
        settings.offersPeople = true
        return try TestIdentityProvider(
            profile: profile,
            clients: [client],
            people: DirectoryPerson.all.prefix(4).map(\.account),
            settings: settings
        )
    }
}
