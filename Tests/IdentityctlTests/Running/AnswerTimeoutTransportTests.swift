// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import IdentityClient
import IdentityTestSupport
import IdentityTesting
import Testing

@testable import identityctl

@Suite(.timeLimit(.minutes(1))) struct AnswerTimeoutTransportTests {
    /// Reads a whole body and never answers.
    private struct SilentTransport: StreamingHTTPTransport {
        func send(_ request: HTTPRequest, body: [UInt8]?) async throws -> (HTTPResponse, [UInt8]) {
            throw CancellationError()
        }

        func open(_ request: HTTPRequest, body: (any TransportBody)?) async throws -> any TransportExchange {
            while try await body?.next() != nil {}
            while true { try await Task.sleep(for: .seconds(3600)) }
        }
    }

    /// Answers at once with a body that never ends.
    private struct EndlessTransport: StreamingHTTPTransport {
        struct Exchange: TransportExchange {
            let response = HTTPResponse(status: .ok)
            func next() async throws -> [UInt8]? { [0x61] }
        }

        func send(_ request: HTTPRequest, body: [UInt8]?) async throws -> (HTTPResponse, [UInt8]) {
            throw CancellationError()
        }

        func open(_ request: HTTPRequest, body: (any TransportBody)?) async throws -> any TransportExchange {
            Exchange()
        }
    }

    /// Three pieces, each after a while.
    private struct SlowBody: TransportBody {
        let read = Shared(0)
        let length: Int64 = 3

        func next() async throws -> [UInt8]? {
            guard read.value < length else { return nil }
            try await Task.sleep(for: .milliseconds(200))  // what is tested is what this time does
            read.withLock { $0 += 1 }
            return [0x61]
        }
    }

    private let request = HTTPRequest(method: .post, scheme: "https", authority: "api.example.test", path: "/")

    @Test func givesUpWhereNoAnswerBegins() async throws {
        let transport = AnswerTimeoutTransport(base: SilentTransport(), timeout: .milliseconds(20))
        let error = await #expect(throws: AuthenticationError.self) { try await transport.open(request, body: nil) }
        #expect(error?.code == .networkTimedOut && error?.message.hasPrefix("api.example.test did not begin") == true)
    }

    @Test func countsFromTheLastPieceOfTheBody() async throws {
        let body = SlowBody()
        let transport = AnswerTimeoutTransport(base: SilentTransport(), timeout: .milliseconds(400))
        await #expect(throws: AuthenticationError.self) { try await transport.open(request, body: body) }
        #expect(body.read.value == 3)
    }

    @Test func endsAtOnceWhereItsTaskIsCancelled() async throws {
        let transport = AnswerTimeoutTransport(base: SilentTransport(), timeout: .seconds(86_400))
        let task = Task { try await transport.open(request, body: nil) }
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
    }

    @Test func leavesAnAnswerThatHasBegunItsTime() async throws {
        let transport = AnswerTimeoutTransport(base: EndlessTransport(), timeout: .milliseconds(1))
        let exchange = try await transport.open(request, body: nil)
        for _ in 1...1000 { #expect(try await exchange.next() == [0x61]) }
    }
}
