// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Foundation
import HTTPTypes
import IdentityClient
import Testing

@testable import DesktopKit

@Suite(.timeLimit(.minutes(1)))
struct AdminConsentTests {
    private static let redirectURI = "http://localhost:8400"

    private func application(
        _ authority: Authority,
        _ browser: any BrowserLauncher = SystemBrowserLauncher()
    ) throws -> PublicClientApplication {
        var configuration = ClientConfiguration(
            clientID: "a b",
            authority: authority,
            cache: InMemoryTokenCache()
        )
        configuration.browser = browser
        return try PublicClientApplication(configuration)
    }

    private func consent(_ authority: Authority) throws -> AdminConsent {
        let redirectURI = try #require(URL(string: Self.redirectURI))
        let scopes: Set<Scope> = ["User.Read.All", "https://graph.microsoft.com/Mail.Send"]
        return try AdminConsent(try application(authority), scopes: scopes, redirectURI: redirectURI, state: "s1")
    }

    @Test(arguments: [("common", "organizations"), ("organizations", "organizations"), ("contoso.com", "contoso.com")])
    func asksForOneTenant(_ named: String, _ expected: String) throws {
        let consent = try consent(try Authority(url: "https://login.microsoftonline.com/\(named)"))
        #expect(
            consent.url.absoluteString
                == "https://login.microsoftonline.com/\(expected)/v2.0/adminconsent"
                + "?client_id=a%20b&redirect_uri=http%3A%2F%2Flocalhost%3A8400"
                + "&scope=User.Read.All%20https%3A%2F%2Fgraph.microsoft.com%2FMail.Send&state=s1"
        )
    }

    @Test func hasNoPageElsewhere() throws {
        let b2c = try Authority.b2c(
            host: "contoso.b2clogin.com",
            tenant: "contoso.onmicrosoft.com",
            policy: "b2c_1_susi"
        )
        for authority in [b2c, try .entra(.consumers)] {
            let error = #expect(throws: WordedError.self) { try consent(authority) }
            #expect(error?.code == .unsupported)
        }
    }

    @Test func readsAYes() throws {
        let answer = try #require(URL(string: "\(Self.redirectURI)/?admin_consent=True&tenant=t-1&state=s1&scope=x"))
        #expect(try consent(.entra(.common)).tenant(from: answer) == "t-1")
    }

    @Test(arguments: [
        ("admin_consent=True&tenant=t-1&state=s2", AuthenticationError.Code.stateMismatch),
        ("admin_consent=True&tenant=t-1", .stateMismatch),
        ("admin_consent=True&tenant=t-1&state=s1&state=s1", .stateMismatch),
        ("error=access_denied&error_description=AADSTS65004&state=s2", .stateMismatch),
        ("error=access_denied&error_description=AADSTS65004&state=s1", .accessDenied),
        ("error=access_denied&admin_consent=True&tenant=t-1&state=s1", .accessDenied),
        ("admin_consent=False&tenant=t-1&state=s1", .malformedResponse),
        ("admin_consent=True&state=s1", .malformedResponse),
    ])
    func takesNothingElseForAYes(_ query: String, _ code: AuthenticationError.Code) throws {
        let answer = try #require(URL(string: "\(Self.redirectURI)/?\(query)"))
        let consent = try consent(.entra(.common))
        let error = #expect(throws: WordedError.self) { try consent.tenant(from: answer) }
        #expect(error?.code == code)
    }

    @Test func saysWhyItWasRefused() throws {
        let answer = try #require(URL(string: "\(Self.redirectURI)/?error=access_denied&state=s1"))
        let consent = try consent(.entra(.common))
        let error = #expect(throws: WordedError.self) { try consent.tenant(from: answer) }
        #expect(error?.text.hasSuffix("access_denied") == true)
    }

    @Test func waitsForTheAnswerThatBelongsToItsQuestion() async throws {
        let administrator = Administrator(answers: [
            "admin_consent=True&tenant=forged&state=guessed", "admin_consent=True&tenant=t-1&state=STATE",
        ])
        let tenant = try await AdminConsent.ask(
            try application(.entra(.common), administrator),
            for: ["User.Read.All"],
            onAddress: { _ in }
        )
        #expect(tenant == "t-1")
    }
}

/// A browser that returns from the page with the given answers, in order.
private struct Administrator: BrowserLauncher {
    let answers: [String]

    func open(_ url: URL) async throws {
        let items = URLComponents(url: url, resolvingAgainstBaseURL: false)?.queryItems ?? []
        let values = Dictionary(items.map { ($0.name, $0.value ?? "") }) { first, _ in first }
        let redirect = try #require(URL(string: values["redirect_uri"] ?? ""))
        let authority = "\(redirect.host() ?? ""):\(redirect.port ?? 80)"
        Task {
            for answer in answers {
                let query = answer.replacing("STATE", with: values["state"] ?? "")
                let request = HTTPRequest(method: .get, scheme: "http", authority: authority, path: "/?\(query)")
                _ = try await CurlTransport(timeout: .seconds(20)).send(request, body: nil)
            }
        }
    }
}
