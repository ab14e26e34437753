// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

public import Foundation
public import HTTPTypes
public import IdentityClient

public struct AuthenticatedClient: Sendable {
    let application: PublicClientApplication
    let account: Account
    let scopes: Set<Scope>

    public init(application: PublicClientApplication, account: Account, scopes: Set<Scope>) {
        self.application = application
        self.account = account
        self.scopes = scopes
    }

    public func get(_ url: URL) async throws -> (response: HTTPResponse, body: [UInt8]) {
        let token = try await application.acquireTokenSilently(scopes: scopes, account: account)
        let parts = URLComponents(url: url, resolvingAgainstBaseURL: true)
        let path = (parts?.percentEncodedPath ?? "/") + (parts?.percentEncodedQuery.map { "?\($0)" } ?? "")
        let host = (url.host() ?? "") + (url.port.map { ":\($0)" } ?? "")
        var request = HTTPRequest(method: .get, scheme: url.scheme, authority: host, path: path)
        request.headerFields[.authorization] = token.authorizationHeader
        let (response, body) = try await application.configuration.transport.send(request, body: nil)
        return (response, body)
    }

    public func pages(from url: URL) -> ResourcePages { ResourcePages(client: self, url: url) }
}

public struct ResourcePages: AsyncSequence, Sendable {
    let client: AuthenticatedClient
    let url: URL
    public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(client: client, next: url) }

    public struct AsyncIterator: AsyncIteratorProtocol {
        let client: AuthenticatedClient
        var next: URL?
        public nonisolated(nonsending) mutating func next() async throws -> ResourcePage? {
            guard let url = next else { return nil }
            next = nil
            let (response, body) = try await client.get(url)
            guard response.status.code == 200 else { throw UnexpectedResponse(response: response, body: body) }
            let page = ResourcePage(body: body)
            next = try page.link()
            return page
        }
    }
}

public struct ResourcePage: Sendable {
    let body: [UInt8]
    func link() throws -> URL? {
        let object = try JSONSerialization.jsonObject(with: Data(body)) as? [String: Any]
        return (object?["@odata.nextLink"] as? String).flatMap { URL(string: $0) }
    }
    struct Collection<Value: Decodable>: Decodable { let value: [Value] }
    public func values<Value: Decodable>(of type: Value.Type = Value.self) throws -> [Value] {
        try JSONDecoder().decode(Collection<Value>.self, from: Data(body)).value
    }
}

public struct UnexpectedResponse: Error {
    public let response: HTTPResponse
    public let body: [UInt8]
}
