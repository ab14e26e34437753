// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import IdentityClient
import Synchronization
import SystemSupport

/// The transport of a bridge, which follows no redirect: a message of another origin would pass for the server's.
struct MCPTransport: StreamingHTTPTransport {
    /// The longest time for which a stream may be silent, and an answer not begin: none. The host decides how long it waits.
    static let silence = Duration.seconds(1 << 30)

    private let curl: CurlTransport

    init(_ curl: CurlTransport) {
        self.curl = curl
    }

    func prepare() { curl.prepare() }

    func send(_ request: HTTPRequest, body: [UInt8]?) async throws -> (HTTPResponse, [UInt8]) {
        try await curl.send(request, body: body)
    }

    func open(_ request: HTTPRequest, body: (any TransportBody)?) async throws -> any TransportExchange {
        let departure = MCPDeparture.current
        if body != nil { try departure?.begin() }
        let exchange = try await curl.open(request, body: body.map { DepartingBody(source: $0, departure: departure) })
        departure?.noteArrival()
        guard exchange.response.status.kind != .redirection else {
            let location = exchange.response.headerFields[.location].map { " to \($0.printable)" } ?? ""
            throw AuthenticationError(
                .malformedResponse,
                "\((request.authority ?? "").printable) redirects\(location), and neither tokens nor messages follow. If that "
                    + "is the server's address, start 'identityctl mcp' with it."
            )
        }
        return exchange
    }
}

/// The departure of a message: a cancellation must not overtake the request that it is about.
final class MCPDeparture: Sendable {
    /// That of the message that the current task sends.
    @TaskLocal static var current: MCPDeparture?

    /// The time after which a message that has left counts as arrived. A server reads its connections in an order of its own.
    private static let way = Duration.milliseconds(300)

    private struct State {
        var isAnswered = false
        var hasBegun = false
        var isCancelled = false
        var hasEnded = false
    }

    /// Settled when the messages that must come after this one may leave.
    let gate = Promise<Void>()

    private let state = Mutex(State())
    private let hasLeft = Promise<Void>()
    private let hasArrived = Promise<Void>()

    /// Whether the host no longer waits for an answer.
    var isCancelled: Bool { state.withLock(\.isCancelled) }

    /// Notes that the host gets an answer to the message.
    ///
    /// - Returns: Whether it is the first. The host gets no other.
    func claimAnswer() -> Bool {
        state.withLock { state in
            defer { state.isAnswered = true }
            return !state.isAnswered
        }
    }

    /// Notes that the message begins to leave.
    ///
    /// - Throws: `CancellationError` if it was cancelled before.
    func begin() throws {
        let mayBegin = state.withLock { state in
            state.hasBegun = state.hasBegun || !state.isCancelled
            return state.hasBegun
        }
        guard mayBegin else { throw CancellationError() }
    }

    /// - Returns: Whether the server needs the cancellation: the first time, if the message has begun to leave.
    func cancel() -> Bool {
        state.withLock { state in
            defer { state.isCancelled = true }
            return state.hasBegun && !state.isCancelled
        }
    }

    /// Notes that all of the message has left.
    fileprivate func noteLeaving() { hasLeft.finish(.success(())) }

    /// Notes that the server begins to answer.
    fileprivate func noteArrival() {
        noteLeaving()
        hasArrived.finish(.success(()))
    }

    /// Notes that the answer is there, or will never be.
    func end() {
        state.withLock { $0.hasEnded = true }
        noteArrival()
    }

    /// Waits until the server must have the message.
    ///
    /// - Returns: Whether it still works on it.
    func waitForArrival() async -> Bool {
        try? await hasLeft.value()  // a cancelled wait ends as well
        try? await withDeadline(Self.way) { [hasArrived] in try await hasArrived.value() }
        return state.withLock { !$0.hasEnded }
    }
}

/// A message in pieces, of which all but the last have left when the end is asked for.
private final class DepartingBody: TransportBody {
    private static let pieceLength = 64 << 10

    private let source: any TransportBody
    private let departure: MCPDeparture?
    private let rest = Mutex<ArraySlice<UInt8>>([])

    init(source: any TransportBody, departure: MCPDeparture?) {
        (self.source, self.departure) = (source, departure)
    }

    var length: Int64 { source.length }

    func next() async throws -> [UInt8]? {
        if rest.withLock(\.isEmpty) {
            guard let more = try await source.next() else {
                departure?.noteLeaving()
                return nil
            }
            rest.withLock { $0 = more[...] }
        }
        return rest.withLock { rest in
            defer { rest = rest.dropFirst(Self.pieceLength) }
            return Array(rest.prefix(Self.pieceLength))
        }
    }
}
