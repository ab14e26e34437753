// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import IdentityTestSupport
import Synchronization

@testable import IdentityClient

/// Answers requests from a list, in order, and records the requests.
final class ScriptedTransport: HTTPTransport {
    enum Step: Sendable {
        case answer(Int, String, [String: String] = [:])
        case failure(AuthenticationError.Code)
        /// The same failure, if libcurl knows that nothing was sent.
        case unsent(AuthenticationError.Code)
        case oddity
    }

    struct Oddity: Error {}

    private struct State {
        var steps: [Step]
        var sent: [(HTTPRequest, String)] = []
    }

    private let state: Mutex<State>

    init(_ steps: [Step]) {
        state = Mutex(State(steps: steps))
    }

    var sentBodies: [String] { state.withLock { $0.sent.map(\.1) } }

    var sentPaths: [String] { state.withLock { $0.sent.map { $0.0.path ?? "" } } }

    func send(_ request: HTTPRequest, body: [UInt8]?) async throws -> (HTTPResponse, [UInt8]) {
        let step = state.withLock { state in
            state.sent.append((request, String(decoding: body ?? [], as: UTF8.self)))
            return state.steps.isEmpty ? .failure(.connectionFailed) : state.steps.removeFirst()
        }
        switch step {
        case .answer(let status, let text, let fields):
            var response = HTTPResponse(status: HTTPResponse.Status(code: status))
            for (name, value) in fields {
                guard let name = HTTPField.Name(name) else { continue }
                response.headerFields[name] = value
            }
            return (response, Array(text.utf8))
        case .failure(let code): throw AuthenticationError(code, "scripted")
        case .unsent(let code):
            let failure = CurlFailure(code: 28, reason: "scripted", wasSent: false)
            throw AuthenticationError(code, "scripted", underlyingError: failure)
        case .oddity: throw Oddity()
        }
    }
}
