// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Foundation
import HTTPTypes
import IdentityClient
import IdentityTesting
import StandIn
import Testing

/// A separate program at a stand-in, with a person in front of a browser. All requests use sockets.
struct Caller {
    let standIn: StandIn
    let application: PublicClientApplication
    let browser: ScriptedBrowser

    init(_ standIn: StandIn, at authority: Authority, as person: TestIdentityProvider.Person = .alice) throws {
        self.standIn = standIn
        browser = ScriptedBrowser(provider: nil, signingInAs: person)
        var configuration = ClientConfiguration(
            clientID: standIn.addresses.clientID,
            authority: authority,
            cache: InMemoryTokenCache()
        )
        configuration.browser = browser
        application = try PublicClientApplication(configuration)
    }

    /// Signs a person in at the Entra-like provider.
    static func graph(
        _ standIn: StandIn,
        scopes: Set<Scope> = ["User.Read", "User.ReadBasic.All"]
    ) async throws -> (Caller, token: AuthenticationResult) {
        let caller = try Caller(standIn, at: standIn.addresses.authority)
        return (caller, try await caller.application.acquireTokenInteractively(scopes: scopes))
    }

    /// Signs a person in at the B2C-like provider, whose scope for the program's own API is the client id.
    static func tasks(
        _ standIn: StandIn,
        as person: TestIdentityProvider.Person = .alice,
        scopes: Set<Scope>? = nil
    ) async throws -> (Caller, token: AuthenticationResult) {
        let caller = try Caller(standIn, at: standIn.addresses.b2cAuthority(policy: "b2c_1_susi"), as: person)
        let scopes = scopes ?? [Scope(rawValue: standIn.addresses.clientID.rawValue)]
        return (caller, try await caller.application.acquireTokenInteractively(scopes: scopes))
    }
}

struct Answer {
    var status: Int
    var headers: HTTPFields
    var body: Data

    /// Returns a member of the JSON answer, by its path of names.
    func value<Value>(_ path: String...) throws -> Value {
        var value: Any? = try JSONSerialization.jsonObject(with: body)
        for name in path { value = (value as? [String: Any])?[name] }
        return try #require(value as? Value)
    }
}

extension StandIn {
    /// Sends one request, with or without a token.
    func send(
        _ target: String,
        _ method: HTTPRequest.Method = .get,
        token: String? = nil,
        type: String = "application/json",
        _ body: String? = nil
    ) async throws -> Answer {
        let authority = "127.0.0.1:\(try #require(addresses.root.port))"
        var request = HTTPRequest(method: method, scheme: "http", authority: authority, path: target)
        if let token { request.headerFields[.authorization] = "Bearer \(token)" }
        if body != nil { request.headerFields[.contentType] = type }
        let (response, bytes) = try await CurlTransport().send(request, body: body.map { Array($0.utf8) })
        return Answer(status: response.status.code, headers: response.headerFields, body: Data(bytes))
    }
}
