// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import HTTPTypes
import IdentityCapture
import IdentityClient
import IdentityTestSupport
import IdentityTesting
import Logging
import OAuthWire
import Synchronization
import Testing

/// A secret leaves the library only through the property that is meant for it.
@Suite(.timeLimit(.minutes(1)))
struct SecretsScenarioTests {
    /// Records all log entries.
    final class Journal: Sendable {
        private let lines = Mutex<[String]>([])

        var text: String { lines.withLock { $0.joined(separator: "\n") } }
        var count: Int { lines.withLock { $0.count } }

        func note(_ line: String) { lines.withLock { $0.append(line) } }

        /// The text that printing, dumping and interpolating produce.
        func note<Value>(all value: Value) {
            var dumped = ""
            dump(value, to: &dumped)
            note("\(value)")
            note(String(reflecting: value))
            note(dumped)
        }

        func logger() -> Logger { Logger(label: "test") { _ in JournalHandler(journal: self) } }
    }

    struct JournalHandler: LogHandler {
        let journal: Journal
        var metadata: Logger.Metadata = [:]
        var logLevel: Logger.Level = .trace

        subscript(metadataKey key: String) -> Logger.Metadata.Value? {
            get { metadata[key] }
            set { metadata[key] = newValue }
        }

        func log(event: LogEvent) {
            journal.note(
                "\(event.level) \(event.message) \(metadata) \(event.metadata ?? [:]) \(String(describing: event.error))"
            )
        }
    }

    /// Every token that the provider issues, observed in transit.
    final class Wiretap: HTTPTransport {
        let base: any HTTPTransport
        let issued = Mutex<[String]>([])

        init(_ base: any HTTPTransport) { self.base = base }

        func send(_ request: HTTPRequest, body: [UInt8]?) async throws -> (HTTPResponse, [UInt8]) {
            let answer = try await base.send(request, body: body)
            if let json = try? JSONObject(parsing: answer.1) {
                let found = ["access_token", "refresh_token", "id_token", "client_info", "device_secret"].compactMap {
                    json.string($0)
                }
                issued.withLock { $0 += found }
            }
            return answer
        }
    }

    private static func secrets(_ setup: TestSetup, _ wiretap: Wiretap) -> Set<String> {
        var secrets = wiretap.issued.withLock { $0 }
        // The claims of an ID token are personal data that an account shows; its signature makes it a secret.
        secrets += secrets.map { $0.split(separator: ".") }.filter { $0.count == 3 }.map { String($0[2]) }
        for request in setup.provider.requests {
            for name in [
                "code", "code_verifier", "refresh_token", "token", "state", "nonce", "code_challenge", "subject_token",
                "actor_token",
            ] {
                if let value = request[name] { secrets.append(value) }
            }
        }
        return Set(secrets.filter { $0.utf8.count >= 8 })
    }

    private func check(_ text: String, _ secrets: Set<String>, _ place: String) {
        #expect(!secrets.contains { text.contains($0) }, "A secret is in \(place).")
    }

    @Test(arguments: [TestIdentityProvider.Profile.openIDConnect, .entra, .b2c])
    func showsNoSecretAnywhere(_ profile: TestIdentityProvider.Profile) async throws {
        let setup = try TestSetup(profile, listensOnLoopback: true)
        let journal = Journal()
        let wiretap = Wiretap(setup.transport)
        let pages = Journal()
        let capture = ExchangeCapture(maximumBytes: 16 * 1024 * 1024)
        let application = try setup.application {
            $0.transport = wiretap
            $0.logger = journal.logger()
            $0.capture = capture
        }
        let scopes: Set<Scope> = ["api.read"]
        func attempt(_ fault: TestIdentityProvider.Fault?, _ work: () async throws -> AuthenticationResult) async {
            if let fault { setup.provider.failNext(.token, with: fault, fault) }
            do {
                let result = try await work()
                journal.note(all: result)
                journal.note(all: result.persistence)
            } catch {
                journal.note(all: error)
                if let error = error as? AuthenticationError { journal.note(all: error.underlyingError as Any) }
            }
            setup.provider.failAlways(.token, with: nil)
        }

        // Answers that quote the request, and truncated answers.
        let faults: [TestIdentityProvider.Fault?] = [
            nil, .html, .notUTF8, .truncated, .drop, .repeating("access_token"), .changing("token_type", to: "7"),
            .changing("id_token", to: #""not.a.token""#), .changing("expires_in", to: "-1"), .serverError(),
            .refusal("invalid_grant", suberror: "message_only"), .throttled(retryAfter: .seconds(1)),
        ]
        for fault in faults {
            await attempt(fault) { try await application.acquireTokenInteractively(scopes: scopes) }
        }
        for fault: ScriptedBrowser.RedirectFault in [
            .changing("iss", to: "https://evil.example.test"), .repeating("code"), .changing("code", to: "short"),
        ] {
            setup.browser.redirectFaults = [fault]
            await attempt(nil) { try await application.acquireTokenInteractively(scopes: scopes) }
        }
        setup.browser.redirectFaults = []
        for tampering: IDTokenTampering in [.brokenSignature, .nonce("other"), .expired, .audience(["x"]), .keyID("x")]
        {
            setup.provider.tamperNextIDToken(with: tampering)
            await attempt(nil) { try await application.acquireTokenInteractively(scopes: scopes) }
        }
        let first = try await application.acquireTokenInteractively(scopes: scopes)
        for fault in faults.reversed() {
            setup.clock.advance(by: .seconds(3601))
            await attempt(fault) { try await application.acquireTokenSilently(scopes: scopes, account: first.account) }
            await attempt(nil) { try await application.acquireTokenInteractively(scopes: scopes) }
        }
        // Exchanges of that token, also with answers that are not believed; only an OpenID provider does them.
        for fault in faults {
            if let fault { setup.provider.failNext(.token, with: fault) }
            var parameters = TokenExchangeParameters(.idToken(of: first.account, scopes: scopes))
            parameters.actor = SecurityToken(first.accessToken, type: .accessToken)
            do {
                journal.note(all: try await application.exchangeToken(parameters))
            } catch {
                journal.note(all: error)
            }
            setup.provider.failAlways(.token, with: nil)
        }
        let accounts = try await application.allAccounts()
        for account in accounts { journal.note(all: account.id) }
        journal.note(try await application.supportReport())

        setup.browser.followsRedirects = false
        let request = try await application.prepareAuthorization(InteractiveParameters(scopes: scopes))
        journal.note(all: request)
        try await setup.browser.open(request.url)
        let redirect = try await setup.browser.redirectURL()
        journal.note(all: ReceivedRedirect(url: redirect, id: 1))
        await attempt(nil) { try await application.completeAuthorization(request, with: redirect) }
        await attempt(nil) { try await application.completeAuthorization(request, with: redirect) }
        for records in try await setup.storedCredentials(of: application) {
            journal.note(all: records.key)
            journal.note(all: records.value)
        }
        for page in setup.browser.pages where page.address.hasPrefix("http://") { pages.note(page.body) }
        try await application.remove(first.account)

        let secrets = Self.secrets(setup, wiretap)
        #expect(secrets.count > 50 && journal.count > 100 && !pages.text.isEmpty)
        #expect(secrets.contains(first.accessToken))
        check(journal.text, secrets, "a log, an error or a description")
        check(pages.text, secrets, "a page")
        let captured = String(decoding: capture.json(), as: UTF8.self)
        #expect(captured.contains("authorization_code") && captured.contains("<code 9>"))
        check(captured, secrets, "a capture")
        #expect(!captured.contains("@"), "A name is in the capture.")
    }

    @Test func showsNoSecretThatAServerSendsBack() async throws {
        // A server that repeats the request in its description is beyond help, but its words are kept out of logs and
        // the error's description.
        let setup = try TestSetup()
        let journal = Journal()
        setup.provider.failNext(
            .token,
            with: .refusal("invalid_grant", description: "The code canary-0123456789 is old.")
        )
        let application = try setup.application { $0.logger = journal.logger() }
        let error = try await expectError(.loginRequired) {
            try await application.acquireTokenInteractively(scopes: ["api.read"])
        }
        #expect(error.serverError?.errorDescription?.contains("canary") == true)
        #expect(!"\(error)".contains("canary") && !error.shortDescription.contains("canary"))
        #expect(!journal.text.contains("canary"))
        let page = try await setup.browser.finalPage()
        #expect(!page.body.contains("canary"))
    }
}
