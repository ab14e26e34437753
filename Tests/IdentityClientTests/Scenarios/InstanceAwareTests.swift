// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import IdentityClient
import IdentityTestSupport
import IdentityTesting
import Testing

/// Accounts of another of Microsoft's clouds.
@Suite(.timeLimit(.minutes(1)))
struct InstanceAwareTests {
    /// A sign-in whose redirect names a cloud. The code in it is made up.
    private func signIn(
        _ cloud: String,
        isInstanceAware: Bool = true,
        _ change: (inout PublicClientApplication.Configuration) -> Void = { _ in }
    ) async throws -> (TestSetup, Result<AuthenticationResult, any Error>) {
        let setup = try TestSetup(.entra)
        let application = try setup.application { configuration in
            configuration.isInstanceAware = isInstanceAware
            change(&configuration)
        }
        let request = try await application.prepareAuthorization(InteractiveParameters(scopes: ["api.read"]))
        #expect(request.url.absoluteString.contains("instance_aware=true") == isInstanceAware)
        let items = URLComponents(url: request.url, resolvingAgainstBaseURL: false)?.queryItems ?? []
        let state = try #require(items.first { $0.name == "state" }?.value)
        let answer = "http://localhost/?code=abc&state=\(state)&cloud_instance_host_name=\(cloud)"
        let url = try #require(URL(string: answer))
        do {
            return (setup, .success(try await application.completeAuthorization(request, with: url)))
        } catch {
            return (setup, .failure(error))
        }
    }

    @Test(arguments: ["login.microsoftonline.us", "LOGIN.microsoftonline.US", "login.partner.microsoftonline.cn"])
    func namesTheAuthorityOfTheAccountsCloud(_ cloud: String) async throws {
        let (setup, result) = try await signIn(cloud)
        let error = try await expectError(.accountInAnotherCloud) { try result.get() }
        let authority = try #require(error.redirectedAuthority)
        #expect(authority.url.hasPrefix("https://\(cloud.lowercased())/") && error.message.contains(authority.url))
        #expect(setup.provider.count(of: .token) == 0, "The code was not sent.")
    }

    /// Its code is redeemed, and refused because it is made up.
    @Test(arguments: [
        ("login.microsoftonline.com", true), ("login.windows.net", true), ("login.microsoftonline.us", false),
    ])
    func goesOnInItsOwnCloudAndUnlessSet(_ cloud: String, _ isInstanceAware: Bool) async throws {
        let (setup, result) = try await signIn(cloud, isInstanceAware: isInstanceAware)
        #expect(throws: AuthenticationError.self) { try result.get() }
        #expect(setup.provider.count(of: .token) == 1)
    }

    @Test func believesNoUnknownCloud() async throws {
        let (setup, result) = try await signIn("evil.example.test")
        let error = try await expectError(.untrustedAuthority) { try result.get() }
        #expect(error.redirectedAuthority == nil && setup.provider.count(of: .token) == 0)
        let (_, known) = try await signIn("login.example.test") { $0.knownHosts = ["login.example.test"] }
        try await expectError(.accountInAnotherCloud) { try known.get() }
    }

    @Test(arguments: ["a%2Fb", "user%40login.microsoftonline.us", "%00", "login.microsoftonline.us%3A444%2Fx"])
    func ignoresWhatIsNoHost(_ cloud: String) async throws {
        let (setup, result) = try await signIn(cloud)
        #expect(throws: AuthenticationError.self) { try result.get() }
        #expect(setup.provider.count(of: .token) == 1)
    }
}
