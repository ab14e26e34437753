// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import CWebKitGTK
import FoundationEssentials
import IdentityClient
import IdentityTesting
import Testing

@testable import IdentityWebView

/// The complete flow: a program, a window with WebKitGTK, and a provider reached over HTTP.
@Suite(.serialized, .tags(.desktop), .enabled(if: Desktop.isPrepared), .timeLimit(.minutes(1)))
struct WebViewSignInTests {
    @Test func signsInOnTheProvidersPage() async throws {
        let setup = try TestSetup()
        let (window, task) = try await setup.signIn()
        try await window.signInAsAlice()
        #expect(try await task.value.account.username == "alice@example.test")
        try await window.waitUntilGone()
        // It went to no port: the redirect was taken before anything was loaded.
        let request = try #require(setup.provider.requests.first { $0.endpoint == .authorization })
        let redirectURI = try #require(request["redirect_uri"])
        #expect(redirectURI.hasPrefix("http://127.0.0.1:"))
        #expect(request["response_mode"] == "query")
    }

    @Test func takesWhatIsTyped() async throws {
        let setup = try TestSetup()
        setup.provider.settings.secondFactorCode = "246810"
        let (window, task) = try await setup.signIn()
        try await window.waitForPage("Sign in")
        try Keyboard.focus("Sign in")
        try await window.tab(to: "username")
        try Keyboard.type("alice@example.test")
        try await window.tab(to: "password")
        try Keyboard.type("correct horse")
        try Keyboard.press("Return")
        try await window.waitForPage("Enter the code")
        try await window.tab(to: "second_factor")
        try Keyboard.type("246810")
        try Keyboard.press("Return")
        #expect(try await task.value.account.username == "alice@example.test")
    }

    @Test func goesOnToASecondFactor() async throws {
        let setup = try TestSetup()
        setup.provider.settings.secondFactorCode = "246810"
        let (window, task) = try await setup.signIn()
        try await window.signInAsAlice()
        try await window.waitForPage("Enter the code")
        try await window.fillIn(["second_factor": "000000"], press: "verify")
        try await window.wait("the refusal of the code") { _ in setup.provider.count(of: .interaction) == 2 }
        try await window.waitForPage("Enter the code")
        try await window.fillIn(["second_factor": "246810"], press: "verify")
        #expect(try await task.value.account.username == "alice@example.test")
    }

    @Test(arguments: ["msauth.com.example.App://auth", "com.example.app:/signed-in", "urn:ietf:wg:oauth:2.0:oob"])
    func takesTheRedirectToAnAddressOfTheProgramsOwn(_ address: String) async throws {
        let url = try #require(URL(string: address))
        let setup = try TestSetup(redirectURI: .custom(url), registered: [address])
        let (window, task) = try await setup.signIn()
        try await window.signInAsAlice()
        #expect(try await task.value.account.username == "alice@example.test")
        try await window.waitUntilGone()
    }

    @Test func readsTheAnswerInAPagesTitle() async throws {
        let urn = "urn:ietf:wg:oauth:2.0:oob"
        let setup = try TestSetup(redirectURI: .custom(try #require(URL(string: urn))), registered: [urn])
        setup.provider.settings.titlesOutOfBandAnswers = true
        let (window, task) = try await setup.signIn()
        try await window.signInAsAlice()
        #expect(try await task.value.account.username == "alice@example.test")
    }

    @Test func asksMicrosoftsProvidersForTheQueryToo() async throws {
        let setup = try TestSetup(profile: .entra)
        let (window, task) = try await setup.signIn()
        try await window.signInAsAlice()
        #expect(try await task.value.account.username == "alice@example.test")
    }

    @Test func tellsThatThePersonSaidNo() async throws {
        let setup = try TestSetup()
        let (window, task) = try await setup.signIn()
        try await window.waitForPage("Sign in")
        try await window.fillIn([:], press: "cancel")
        await #expect { try await task.value } throws: { ($0 as? AuthenticationError)?.code == .accessDenied }
        try await window.waitUntilGone()
    }

    @Test func forgetsTheSessionWithTheWindow() async throws {
        let setup = try TestSetup()
        for _ in 1...2 {
            let (window, task) = try await setup.signIn()
            // Were the first one's cookie still there, no page would be shown.
            try await window.signInAsAlice()
            _ = try await task.value
        }
        let visits = setup.provider.requests.filter { $0.endpoint == .authorization }
        #expect(visits.count == 2)
        #expect(visits.allSatisfy { $0.header("Cookie") == nil })
    }

    @Test func showsWhoThePageComesFrom() async throws {
        let setup = try TestSetup()
        let (window, task) = try await setup.signIn()
        try await window.waitForPage("Sign in")
        let origin = try await MainContext.value(within: .seconds(30)) { window.origin }
        let request = try #require(setup.provider.requests.first { $0.endpoint == .authorization })
        #expect(origin == PageOrigin(request.url))
        #expect(origin?.scheme == "http")
        task.cancel()
    }

    @Test func waitsOnAfterARedirectWithAnotherState() async throws {
        let setup = try TestSetup()
        let (window, task) = try await setup.signIn()
        try await window.waitForPage("Sign in")
        let request = try #require(setup.provider.requests.first { $0.endpoint == .authorization })
        let redirectURI = try #require(request["redirect_uri"])
        try await window.run("location.href = '\(redirectURI)?code=forged&state=other'")
        try await window.signInAsAlice()
        #expect(try await task.value.account.username == "alice@example.test")
        #expect(setup.provider.count(of: .token) == 1)
    }
}
