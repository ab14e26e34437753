// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import HTTPTypes
import IdentityClient
import Synchronization
import SystemSupport
import Testing

/// A transport that passes requests on and records the exchanges with the token endpoint.
final class Wiretap: HTTPTransport {
    struct Exchange: Sendable {
        let form: [String: String]
        let status: Int
        let answer: TokenAnswer
    }

    private let base: any HTTPTransport
    private let exchanges = Mutex<[Exchange]>([])
    private let gate = Mutex<AnswerGate?>(nil)

    init(_ base: any HTTPTransport) {
        self.base = base
    }

    /// The requests to the token endpoint so far.
    var tokenRequests: [Exchange] { exchanges.withLock { $0 } }

    /// The refresh token that was issued last.
    var refreshToken: String {
        get throws { try #require(tokenRequests.last { $0.answer.refreshToken != nil }?.answer.refreshToken) }
    }

    /// Holds back the answers to the next refresh and to later refreshes until the gate opens.
    func holdAnswers() -> AnswerGate {
        let new = AnswerGate()
        gate.withLock { $0 = new }
        return new
    }

    func send(_ request: HTTPRequest, body: [UInt8]?) async throws -> (HTTPResponse, [UInt8]) {
        let answer = try await base.send(request, body: body)
        let form = Form.decode(body ?? [])
        if request.method == .post, form["grant_type"] != nil {
            let exchange = Exchange(form: form, status: answer.0.status.code, answer: TokenAnswer(answer.1))
            exchanges.withLock { $0.append(exchange) }
            if form["grant_type"] == "refresh_token" { try await gate.withLock { $0 }?.pass() }
        }
        return answer
    }

    /// Sends a form to the provider directly, as another program would. It does not count as a request of the library.
    func post(_ form: [String: String], to url: String) async throws -> (status: Int, answer: TokenAnswer) {
        let url = try #require(URL(string: url))
        var request = HTTPRequest(
            method: .post,
            scheme: url.scheme,
            authority: "\(try #require(url.host())):\(try #require(url.port))",
            path: url.path()
        )
        request.headerFields[.contentType] = "application/x-www-form-urlencoded"
        let (response, body) = try await base.send(request, body: Array(Form.encode(form).utf8))
        return (response.status.code, TokenAnswer(body))
    }

    /// Fetches a protected page with an access token, and returns the status.
    func get(_ url: String, bearer: String) async throws -> Int {
        let url = try #require(URL(string: url))
        var request = HTTPRequest(
            method: .get,
            scheme: url.scheme,
            authority: "\(try #require(url.host())):\(try #require(url.port))",
            path: url.path()
        )
        request.headerFields[.authorization] = "Bearer \(bearer)"
        return try await base.send(request, body: nil).0.status.code
    }
}

/// A gate at which the provider's answers wait before they reach the program.
final class AnswerGate: Sendable {
    private let arrival = Promise<Void>()
    private let opening = Promise<Void>()

    /// Waits for an answer. The provider has then rotated the refresh token, and the program does not know it.
    func answer() async throws {
        try await withDeadline(.seconds(30)) { try await self.arrival.value() }
    }

    func open() { opening.finish(.success(())) }

    fileprivate func pass() async throws {
        arrival.finish(.success(()))
        try await opening.value()
    }
}

/// The answer of a token endpoint; empty if it is not JSON.
struct TokenAnswer: Decodable, Sendable {
    var accessToken: String?
    var refreshToken: String?
    var error: String?

    enum CodingKeys: String, CodingKey {
        case accessToken = "access_token"
        case refreshToken = "refresh_token"
        case error
    }

    init(_ body: [UInt8]) {
        if let answer = try? JSONDecoder().decode(TokenAnswer.self, from: Data(body)) { self = answer }
    }
}

/// Form encoding without the library's own code.
enum Form {
    static func decode(_ body: [UInt8]) -> [String: String] {
        let items = URLComponents(string: "?" + String(decoding: body, as: UTF8.self))?.queryItems ?? []
        return Dictionary(items.map { ($0.name, $0.value ?? "") }) { first, _ in first }
    }

    static func encode(_ form: [String: String]) -> String {
        var components = URLComponents()
        components.queryItems = form.map { URLQueryItem(name: $0.key, value: $0.value) }
        return components.percentEncodedQuery?.replacing("+", with: "%2B") ?? ""
    }
}
