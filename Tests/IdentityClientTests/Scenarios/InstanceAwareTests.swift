// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import IdentityClient
import IdentityTestSupport
import IdentityTesting
import Testing

/// Answers that name a cloud: to which of them the code goes.
@Suite(.timeLimit(.minutes(1)))
struct InstanceAwareTests {
    private let setup: TestSetup

    init() throws {
        setup = try TestSetup(.entra)
        setup.provider.add(.ofTheGovernment)
    }

    /// Completes a sign-in with an answer that names `cloud`. The code in it is made up, and refused if it is sent.
    private func answer(
        _ cloud: String,
        _ items: String = "",
        isInstanceAware: Bool = true,
        account: Account? = nil,
        _ change: (inout ClientConfiguration) -> Void = { _ in }
    ) async throws -> AuthenticationError {
        let application = try setup.application { configuration in
            configuration.entra.isInstanceAware = isInstanceAware
            change(&configuration)
        }
        let parameters = InteractiveParameters(scopes: ["api.read"], account: account)
        let request = try await application.prepareAuthorization(parameters)
        #expect(request.url.absoluteString.contains("instance_aware=true") == isInstanceAware)
        let query = URLComponents(url: request.url, resolvingAgainstBaseURL: false)?.queryItems ?? []
        let state = try #require(query.first { $0.name == "state" }?.value)
        let url = try #require(
            URL(string: "http://localhost/?code=abc&state=\(state)&cloud_instance_host_name=\(cloud)\(items)")
        )
        return try #require(
            await #expect(throws: AuthenticationError.self) {
                try await application.completeAuthorization(request, with: url)
            }
        )
    }

    /// The hosts that got a code.
    private var redeemers: [String?] {
        setup.provider.requests.filter { $0.endpoint == .token }.map { URL(string: $0.url)?.host() }
    }

    @Test(arguments: [
        ("login.microsoftonline.us", "login.microsoftonline.us"),
        ("login.microsoftonline.com", "login.microsoftonline.com"), ("login.windows.net", "login.microsoftonline.com"),
        ("", "login.microsoftonline.com"),
    ])
    func sendsTheCodeToTheNamedCloud(_ cloud: String, _ redeemer: String) async throws {
        _ = try await answer(cloud)
        #expect(redeemers == [redeemer])
    }

    @Test(arguments: [
        "evil.example.test", "login.microsoftonline.us.evil.example", "evil-login.microsoftonline.us",
        "login.rnicrosoftonline.us", "xn--login-9ua.microsoftonline.us", "LOGIN.microsoftonline.us",
        "login.microsoftonline.us.", "login.microsoftonline.us:443", "login.microsoftonline.us:444",
        "user%40login.microsoftonline.us", "login.microsoftonline.us%2Fx", "login.microsoftonline.us%3Fx",
        "login.microsoftonline.us%00", "login.microsoftonline.us%0D%0A", "login.microsoftonline.us%20",
        "login.micros%C3%B6ftonline.us", "login.microsoftonline%E3%80%82us", "%E2%84%AA", "localhost", "127.0.0.1:80",
        "https%3A%2F%2Flogin.microsoftonline.us", "login.microsoftonline.us%23", ".", "graph.microsoft.us",
    ])
    func sendsTheCodeToNoOtherHost(_ cloud: String) async throws {
        let error = try await answer(cloud)
        #expect(error.code == .untrustedAuthority && redeemers.isEmpty, "\(error)")
        #expect(!error.message.utf8.contains { $0 < 0x20 })
    }

    @Test func believesAHostThatTheProgramKnows() async throws {
        let host = "login.example.test"
        setup.provider.add(.init(username: "x", password: "x", name: "X", subject: "x", objectID: "x", cloudHost: host))
        _ = try await answer(host) { $0.entra.knownHosts = [host] }
        #expect(redeemers == [host])
    }

    @Test func sendsTheCodeToOneOfTwoNamesNeither() async throws {
        _ = try await answer("login.microsoftonline.us", "&cloud_instance_host_name=login.microsoftonline.de")
        #expect(redeemers == ["login.microsoftonline.com"])
    }

    /// A program that has not asked for the cloud is told where to sign in; what is no cloud is ignored.
    @Test func namesTheAuthorityUnlessSet() async throws {
        let error = try await answer("login.microsoftonline.us", isInstanceAware: false)
        let authority = try #require(error.redirectedAuthority)
        #expect(error.code == .accountInAnotherCloud && redeemers.isEmpty)
        #expect(authority.description.hasPrefix("https://login.microsoftonline.us/"))
        #expect(error.message.contains(authority.description))
        _ = try await answer("evil.example.test", isInstanceAware: false)
        #expect(redeemers == ["login.microsoftonline.com"])
    }

    /// An issuer that contradicts the cloud shows that the answer was put together from two.
    @Test(arguments: [
        ("https%3A%2F%2Flogin.microsoftonline.com%2Fcontoso%2Fv2.0", true),
        ("https%3A%2F%2Fevil.example%2Fcontoso%2Fv2.0", true),
        ("https%3A%2F%2Flogin.microsoftonline.us%2Fcontoso%2Fv2.0", false),
    ])
    func comparesTheIssuerWithTheCloud(_ issuer: String, isRefused: Bool) async throws {
        let error = try await answer("login.microsoftonline.us", "&iss=\(issuer)")
        #expect((error.code == .invalidResponse) == isRefused && redeemers.isEmpty == isRefused)
    }

    @Test func sendsNoCodeOfAnotherCloudThanTheAccounts() async throws {
        let alice = Account(id: Account.ID(rawValue: "a.b"), environment: "login.microsoftonline.com")
        let error = try await answer("login.microsoftonline.us", account: alice)
        #expect(error.code == .accountMismatch && redeemers.isEmpty, "\(error)")
    }

    @Test func refusesAnIDTokenOfAnotherCloud() async throws {
        let application = try setup.application { $0.entra.isInstanceAware = true }
        setup.browser.person = .ofTheGovernment
        let tenant = "11111111-2222-4333-8444-555555555555"
        setup.provider.tamperNextIDToken(with: .issuer("https://login.microsoftonline.com/\(tenant)/v2.0"))
        try await expectError(.invalidIDToken) {
            try await application.acquireTokenInteractively(scopes: ["api.read"])
        }
        #expect(redeemers == ["login.microsoftonline.us"])
        #expect(try await application.allAccounts().isEmpty)
    }
}

extension TestIdentityProvider.Person {
    /// A person of the cloud of the US government.
    static let ofTheGovernment = Self(
        username: "grace@agency.example",
        password: "correct horse",
        name: "Grace Example",
        subject: "subject-grace",
        objectID: "cccccccc-0000-4000-8000-000000000003",
        cloudHost: "login.microsoftonline.us"
    )

    /// A person with Alice's identifier in another cloud.
    static let aliceElsewhere = Self(
        username: "alice@agency.example",
        password: "correct horse",
        name: "Alice Agent",
        subject: "subject-alice-2",
        objectID: TestIdentityProvider.Person.alice.objectID,
        cloudHost: "login.microsoftonline.us"
    )
}
