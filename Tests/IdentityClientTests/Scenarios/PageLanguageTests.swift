// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import IdentityClient
import IdentityTestSupport
import IdentityTesting
import Testing

/// The pages of a program that does not speak English, as they arrive in the browser.
@Suite(.timeLimit(.minutes(1)))
struct PageLanguageTests {
    private let setup: TestSetup

    init() throws {
        setup = try TestSetup(listensOnLoopback: true)
    }

    private func application() throws -> PublicClientApplication {
        var texts = try RedirectPage.Texts(language: "de")
        texts.succeeded = .init(title: "Angemeldet", sentence: "Die Anmeldung ist abgeschlossen.")
        texts.signedOut = .init(title: "Abgemeldet", sentence: "Die Abmeldung ist abgeschlossen.")
        texts.failed = .init(title: "Nicht angemeldet", sentence: "Die Anmeldung bei {application} ist gescheitert.")
        texts.refused = .init(title: "Hier ist nichts", sentence: "Auf diese Anmeldung wartet niemand.")
        let receiver = LoopbackRedirectReceiver(applicationName: "Notizen & mehr", texts: texts)
        return try setup.application { $0.redirectReceiver = receiver }
    }

    @Test func arePutInItsOwnWords() async throws {
        let application = try application()
        setup.browser.redirectFaults = [.forgedFirst("state", value: "other")]
        let account = try await application.acquireTokenInteractively(scopes: ["api.read"]).account
        #expect(try await setup.browser.finalPage().body.contains("<h1>Angemeldet</h1>"))
        #expect(setup.browser.pages.contains { $0.status == 400 && $0.body.contains("<h1>Hier ist nichts</h1>") })
        setup.browser.redirectFaults = []

        var parameters = SignOutParameters()
        parameters.endsBrowserSession = true
        parameters.postLogoutRedirectURI = try .loopback(path: "/signed-out")
        try await application.signOut(account, parameters: parameters)
        let page = try await setup.browser.finalPage().body
        #expect(page.contains("<html lang=\"de\">") && page.contains("<h1>Abgemeldet</h1>"))
    }

    @Test func showTheErrorBelowThem() async throws {
        setup.provider.failNext(.token, with: .refusal("invalid_client", status: 401))
        let application = try application()
        let error = try await expectError(.clientNotRegistered) {
            try await application.acquireTokenInteractively(scopes: ["api.read"])
        }
        let page = try await setup.browser.finalPage().body
        #expect(page.contains("<p>Die Anmeldung bei <bdi>Notizen &amp; mehr</bdi> ist gescheitert.</p>"))
        #expect(page.contains("<p class=\"detail\" lang=\"en\" dir=\"auto\">\(error.message.prefix(20))"))
    }
}
