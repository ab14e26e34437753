// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Foundation
import IdentityTestSupport
import IdentityTesting
import LoopbackHTTP
import OAuthWire
import SystemSupport
import Testing

@testable import identityctl

/// An API on this computer, and a person with a profile `api` whose forwarder passes requests on to it.
final class ForwardedAPI: Sendable {
    let person: Person
    private let server: LoopbackServer
    private let seen: Shared<[LoopbackRequest]>

    /// The requests so far.
    var requests: [LoopbackRequest] { seen.value }
    var host: String { "127.0.0.1:\(server.port)" }
    var address: String { "http://\(host)/v1" }

    /// - Parameters:
    ///   - lines: More lines of the profile.
    ///   - pages: The texts at paths, for every token of the provider. At others it says welcome.
    ///   - answer: Returns the API's answer; `nil` for the usual one.
    init(
        _ lines: String...,
        pages: [String: String] = [:],
        answer: @escaping @Sendable (LoopbackRequest, _ token: String) -> LoopbackResponse? = { _, _ in nil }
    ) async throws {
        var person = try await Person()
        person.variables["XDG_RUNTIME_DIR"] = "\(person.home)/run"
        try FileManager.default.createDirectory(atPath: "\(person.home)/run", withIntermediateDirectories: false)
        let (provider, seen) = (person.setup.provider, Shared<[LoopbackRequest]>([]))
        self.seen = seen
        server = try LoopbackServer.start { request in
            seen.withLock { $0.append(request) }
            let token = request.headers["Authorization"].map { String($0.dropFirst(7)) } ?? ""
            if let given = answer(request, token) { return given }
            guard provider.accepts(accessToken: token) else { return LoopbackResponse(status: 401, text: "no") }
            let text = pages[request.path] ?? "welcome"
            let types = ["{": "application/json", "<": "text/html"]
            return LoopbackResponse(status: 200, text: text, type: types[text.prefix(1).description] ?? "text/plain")
        }
        self.person = person
        let text = try #require(person.text(".config/identityctl/profiles/work.conf"))
        let more = ["serves = \(address)", "forward = \(address)"] + lines
        try person.write(
            text + more.map { "\($0)\n" }.joined(),
            to: ".config/identityctl/profiles/api.conf"
        )
    }

    deinit { server.close() }

    /// Starts the forwarder, and waits until it listens.
    func start(_ arguments: String..., having more: [String: String] = [:]) async throws -> Tool {
        let tool = try Tool(["forward"] + arguments, person.variables.merging(more) { $1 })
        _ = try await tool.errorLine { $0.hasPrefix("The forwarder listens.") }
        return tool
    }

    /// The place and the word that a program is told.
    struct Place {
        let port: UInt16
        let socket: String
        let phantom: String
    }

    func place() async throws -> Place {
        let outcome = try await person.run(["forward", "address", "api", "--show-phantom", "--json"])
        let report = try JSONObject(parsing: Array(outcome.output.utf8))
        let address = try #require(report.string("address"), "\(outcome)")
        return Place(
            port: try #require(URL(string: address)?.port.flatMap { UInt16($0) }),
            socket: try #require(report.string("socket")),
            phantom: try #require(report.string("phantom"))
        )
    }

    /// A whole request, after which the connection ends.
    static func request(_ line: String = "GET /v1/models", at port: UInt16, _ phantom: String? = nil) -> String {
        let field = phantom.map { "x-api-key: \($0)\r\n" } ?? ""
        return "\(line) HTTP/1.1\r\nHost: 127.0.0.1:\(port)\r\n\(field)Connection: close\r\n\r\n"
    }

    /// The answer to a request with the phantom.
    func get(_ place: Place, _ line: String = "GET /v1/models") async throws -> String {
        try await exchange(Self.request(line, at: place.port, place.phantom), port: place.port)
    }

    /// The answer to a request without a phantom at a socket.
    static func get(atSocket path: String) throws -> String {
        let socket = try #require(UnixSocket.connect(to: path, timeoutSeconds: 20))
        _ = socket.send(Array("GET /v1/models HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".utf8)[...])
        var (answer, buffer) = ([UInt8](), [UInt8](repeating: 0, count: 4096))
        while case .bytes(let count) = socket.receive(into: &buffer) { answer += buffer[..<count] }
        return String(decoding: answer, as: UTF8.self)
    }
}
