// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import HTTPTypes
import IdentityClient
import IdentityTestSupport
import IdentityTesting
import OAuthWire

/// An identity broker that answers as a test decides.
final class ScriptedBroker: TokenBroker {
    typealias Answer = @Sendable (BrokerRequest) async throws -> BrokerTokens

    /// The calls, in order.
    let calls = Shared<[String]>([])
    let requests = Shared<[BrokerRequest]>([])
    let silent = Shared<Answer>({ _ in throw ScriptedBroker.missing })
    let interactive = Shared<Answer>({ _ in throw ScriptedBroker.missing })
    let listed = Shared<Result<[Account], AuthenticationError>>(.success([]))
    let removal = Shared<AuthenticationError?>(nil)

    static let missing = AuthenticationError(.brokerUnavailable, "No identity broker here.")

    func acquireTokenSilently(_ request: BrokerRequest) async throws -> BrokerTokens {
        note("silent", request)
        return try await silent.value(request)
    }

    func acquireTokenInteractively(_ request: BrokerRequest) async throws -> BrokerTokens {
        note("interactive", request)
        return try await interactive.value(request)
    }

    func accounts(for clientID: ClientID) async throws -> [Account] { try listed.value.get() }

    func remove(_ account: Account, for clientID: ClientID) async throws {
        calls.withLock { $0.append("remove") }
        if let error = removal.value { throw error }
    }

    func information() async throws -> BrokerInformation { BrokerInformation() }

    private func note(_ call: String, _ request: BrokerRequest) {
        calls.withLock { $0.append(call) }
        requests.withLock { $0.append(request) }
    }
}

extension TestSetup {
    /// Tokens of the provider as a broker would have them, for another program's sign-in with the same client.
    func brokerTokens(
        of person: TestIdentityProvider.Person = .alice,
        client: ClientID = "test-client",
        namesAccount: Bool = true,
        boundTo keyID: String? = nil
    ) async throws -> BrokerTokens {
        browser.person = person
        browser.forgetCookies()
        defer { browser.person = .alice }
        let other = try application {
            $0.clientID = client
            $0.cache = InMemoryTokenCache()
            $0.browser = browser
            if let keyID { $0.transport = RebindingTransport(base: provider.transport, keyID: keyID) }
        }
        var parameters = InteractiveParameters(scopes: ["api.read"])
        if keyID != nil { parameters.scheme = .pop }
        let result = try await other.acquireTokenInteractively(parameters)
        return BrokerTokens(
            accessToken: result.accessToken,
            expiresOn: result.expiresOn,
            scopes: ["api.read"],
            idToken: result.idToken,
            homeAccountID: namesAccount ? result.account.homeAccountID : nil
        )
    }
}

/// Asks for tokens that are bound to another key than the program's, as a broker does for a program.
private struct RebindingTransport: HTTPTransport {
    let base: any HTTPTransport
    let keyID: String

    func send(_ request: HTTPRequest, body: [UInt8]?) async throws -> (HTTPResponse, [UInt8]) {
        let wanted = Base64URL.encode(Array(#"{"kid":"\#(keyID)"}"#.utf8))
        let parameters = body.map { String(decoding: $0, as: UTF8.self).split(separator: "&") }?
            .map { $0.hasPrefix("req_cnf=") ? "req_cnf=\(wanted)" : $0 }
        return try await base.send(request, body: parameters.map { Array($0.joined(separator: "&").utf8) })
    }
}
