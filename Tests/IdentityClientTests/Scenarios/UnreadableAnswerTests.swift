// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import HTTPTypes
import IdentityTestSupport
import IdentityTesting
import Testing

@testable import IdentityClient

/// The provider rotates refresh tokens, and its answers arrive whole, in a state that few clients read. None of them may
/// cost the sign-in, because the token that was sent is spent.
@Suite(.timeLimit(.minutes(1)))
struct UnreadableAnswerTests {
    struct State: Sendable, CustomTestStringConvertible {
        let name: String
        /// Whether the answer is used. If not, its refresh token is kept and the call fails.
        let isUsed: Bool
        let change: @Sendable (HTTPResponse, [UInt8]) -> (HTTPResponse, [UInt8])

        init(_ name: String, isUsed: Bool, _ change: @escaping @Sendable ([UInt8]) -> [UInt8]) {
            self.init(name, isUsed: isUsed, coding: nil, change)
        }

        init(
            _ name: String,
            isUsed: Bool,
            coding: String?,
            _ change: @escaping @Sendable ([UInt8]) -> [UInt8]
        ) {
            (self.name, self.isUsed) = (name, isUsed)
            self.change = { response, body in
                var response = response
                let body = change(body)
                response.headerFields[.contentEncoding] = coding
                response.headerFields[.contentLength] = "\(body.count)"
                return (response, body)
            }
        }

        var testDescription: String { name }
    }

    private static let padding = #","zzz":""# + String(repeating: "x", count: 3 << 19) + #"""#

    /// The object with more members before its own.
    private static func adding(_ members: [UInt8], to body: [UInt8]) -> [UInt8] {
        [UInt8(ascii: "{")] + members + [UInt8(ascii: ",")] + body.dropFirst()
    }

    static let states: [State] = [
        State("gzip", isUsed: true, coding: "gzip", Compression.gzip),
        State("gzip twice", isUsed: true, coding: "gzip, gzip") { Compression.gzip(Compression.gzip($0)) },
        State("gzip, cut off", isUsed: false, coding: "gzip") { Array(Compression.gzip($0).dropLast(9)) },
        State("gzip, above the limit", isUsed: false, coding: "gzip") {
            Compression.gzip($0.dropLast() + Array((padding + "}").utf8))
        },
        State("deflate", isUsed: true, coding: "deflate", Compression.deflate),
        State("a byte order mark", isUsed: true) { [0xEF, 0xBB, 0xBF] + $0 },
        State("a byte that is not UTF-8", isUsed: true) {
            adding(Array("\"name\":\"Andr".utf8) + [0xE9, 0x22], to: $0)
        },
        State("a member twice", isUsed: false) { adding(Array(#""token_type":"Bearer""#.utf8), to: $0) },
        State("bytes after the object", isUsed: false) { $0 + Array("<!-- 12 ms -->".utf8) },
        State("the end is missing", isUsed: false) { Array($0.dropLast()) },
        State("an error beside the tokens", isUsed: false) { adding(Array(#""error":"server_error""#.utf8), to: $0) },
    ]

    private func acquire(_ application: PublicClientApplication, _ account: Account) async throws
        -> AuthenticationResult
    {
        try await application.acquireTokenSilently(scopes: ["api.read"], account: account)
    }

    private func sent(_ setup: TestSetup) -> [String] { setup.provider.requests.compactMap { $0["refresh_token"] } }

    @Test(arguments: states)
    func theRefreshTokenIsKept(_ state: State) async throws {
        let setup = try TestSetup()
        let transport = ChangingTransport(setup.provider.transport)
        let (application, first) = try await setup.signedIn { $0.transport = transport }
        setup.clock.advance(by: .seconds(3600))
        transport.set(state.change)
        if state.isUsed {
            #expect(try await acquire(application, first.account).source == .identityProvider)
        } else {
            try await expectError(.malformedResponse) { try await acquire(application, first.account) }
        }
        #expect(sent(setup).count == 1, "The refresh token is spent, and must not be sent again.")
        transport.set(nil)
        setup.clock.advance(by: .seconds(3600))
        #expect(try await acquire(application, first.account).source == .identityProvider)
        #expect(Set(sent(setup)).count == 2 && sent(setup).count == 2)
    }

    /// libcurl stops in the middle of the answer.
    @Test func theRefreshTokenIsKeptFromTheBeginningOfALargeAnswer() async throws {
        let provider = try TestIdentityProvider()
        defer { provider.close() }
        var configuration = ClientConfiguration(
            clientID: "test-client",
            authority: try provider.listen(),
            cache: InMemoryTokenCache()
        )
        configuration.browser = ScriptedBrowser(provider: nil)
        let application = try PublicClientApplication(configuration)
        let account = try await application.acquireTokenInteractively(scopes: ["api.read"]).account
        let parameters = SilentParameters(scopes: ["api.read"], account: account, forcesRefresh: true)
        provider.failNext(.token, with: .changing("zzz", to: String(Self.padding.dropFirst(7))))
        let error = try await expectError(.malformedResponse) { try await application.acquireTokenSilently(parameters) }
        #expect(!String(reflecting: error).contains("zzz"))
        #expect(try await application.acquireTokenSilently(parameters).source == .identityProvider)
        let sent = provider.requests.compactMap { $0["refresh_token"] }
        #expect(sent.count == 2 && Set(sent).count == 2)
    }

    /// The same at sign-in: what can be read signs the person in, and the rest leaves no refresh token valid.
    @Test(arguments: states)
    func signsInIfTheAnswerCanBeRead(_ state: State) async throws {
        let setup = try TestSetup()
        let transport = ChangingTransport(setup.provider.transport)
        transport.set(state.change)
        let application = try setup.application { $0.transport = transport }
        let result = try? await application.acquireTokenInteractively(scopes: ["api.read"])
        #expect((result != nil) == state.isUsed)
        #expect(setup.provider.count(of: .token) == 1)
        #expect(setup.provider.count(of: .revocation) == (state.isUsed ? 0 : 1))
    }

    /// An answer without tokens does not tell that the token was spent: it is sent once more by a later call, not by this one.
    @Test(arguments: ["<html>", "", "{}", "[]"])
    func anAnswerWithoutTokensIsNotAskedForAgain(_ body: String) async throws {
        let setup = try TestSetup()
        let (application, first) = try await setup.signedIn()
        setup.clock.advance(by: .seconds(3600))
        setup.provider.failNext(.token, with: .answer(status: 200, body: body))
        let before = setup.provider.count(of: .token)
        try await expectError(.malformedResponse) { try await acquire(application, first.account) }
        #expect(setup.provider.count(of: .token) == before + 1)
        #expect(try await acquire(application, first.account).source == .identityProvider)
    }

    /// An answer that was lost on the way is asked for once more: the provider may give the same answer again.
    @Test(arguments: [
        TestIdentityProvider.Fault.drop, .truncated, .serverError(status: 502), .serverError(status: 504),
        .serverError(status: 408),
    ])
    func aLostAnswerIsAskedForOnceMore(_ fault: TestIdentityProvider.Fault) async throws {
        let setup = try TestSetup { $0.rotatesRefreshTokens = false }
        let (application, first) = try await setup.signedIn()
        setup.clock.advance(by: .seconds(3600))
        setup.provider.failNext(.token, with: fault)
        #expect(try await acquire(application, first.account).source == .identityProvider)
        #expect(sent(setup).count == 2)
    }

    @Test func believesNoneOfTwoRefreshTokens() async throws {
        let setup = try TestSetup()
        let transport = ChangingTransport(setup.provider.transport)
        let (application, first) = try await setup.signedIn { $0.transport = transport }
        setup.clock.advance(by: .seconds(3600))
        let before = try await setup.storedTokens(of: application)
        transport.set { response, body in
            (response, Self.adding(Array(#""refresh_token":"of another""#.utf8), to: body))
        }
        let error = try await expectError(.malformedResponse) { try await acquire(application, first.account) }
        #expect(error.message.contains("refresh_token occurs more than once"))
        #expect(sent(setup).count == 1)
        #expect(try await setup.storedTokens(of: application) == before)
    }

    @Test(arguments: states.filter(\.isUsed).filter { !$0.name.contains("UTF-8") })
    func readsThePublishedDocuments(_ state: State) async throws {
        let setup = try TestSetup()
        let transport = ChangingTransport(setup.provider.transport, changes: .get)
        transport.set(state.change)
        let application = try setup.application { $0.transport = transport }
        #expect(try await application.acquireTokenInteractively(scopes: ["api.read"]).source == .identityProvider)
    }
}

/// Changes the provider's answers on their way, to requests of one method. Libcurl reads one that names a coding.
private final class ChangingTransport: HTTPTransport {
    private let change = Shared<(@Sendable (HTTPResponse, [UInt8]) -> (HTTPResponse, [UInt8]))?>(nil)
    private let base: any HTTPTransport
    private let method: HTTPRequest.Method

    func set(_ change: (@Sendable (HTTPResponse, [UInt8]) -> (HTTPResponse, [UInt8]))?) {
        self.change.withLock { $0 = change }
    }

    init(_ base: any HTTPTransport, changes method: HTTPRequest.Method = .post) {
        (self.base, self.method) = (base, method)
    }

    func send(_ request: HTTPRequest, body: [UInt8]?) async throws -> (HTTPResponse, [UInt8]) {
        let (response, bytes) = try await base.send(request, body: body)
        guard request.method == method, let change = change.value else { return (response, bytes) }
        let (changed, text) = change(response, bytes)
        guard let coding = changed.headerFields[.contentEncoding] else { return (changed, text) }
        let server = try ScriptedServer(answering: text, coding: coding)
        defer { server.close() }
        return try await CurlTransport().send(.get(server), body: nil)
    }
}
