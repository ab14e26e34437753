// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import IdentityClient
import Synchronization

/// A transport that gives up a request if no byte moves for a given time before the answer begins.
///
/// The answer itself may take as long as `base` lets it.
struct AnswerTimeoutTransport: StreamingHTTPTransport {
    let base: any StreamingHTTPTransport
    let timeout: Duration

    func send(_ request: HTTPRequest, body: [UInt8]?) async throws -> (HTTPResponse, [UInt8]) {
        try await base.send(request, body: body)
    }

    func open(_ request: HTTPRequest, body: (any TransportBody)?) async throws -> any TransportExchange {
        let activity = LastActivity()
        let body = body.map { WatchedBody(source: $0, activity: activity) }
        return try await withThrowingTaskGroup(of: (any TransportExchange)?.self) { group in
            defer { group.cancelAll() }
            group.addTask { try await base.open(request, body: body) }
            group.addTask {
                try await activity.waitForInactivity(of: timeout)
                return nil
            }
            guard case let exchange?? = try await group.next() else { throw timedOut(request) }
            return exchange
        }
    }

    private func timedOut(_ request: HTTPRequest) -> AuthenticationError {
        let host = (request.authority ?? "The API").printable
        return AuthenticationError(
            .networkTimedOut,
            "\(host) did not begin to answer within \(timeout.wholeSeconds) s. Whether it did what was asked is not known."
        )
    }
}

/// The time of the last movement.
private final class LastActivity: Sendable {
    private let time = Mutex(ContinuousClock.now)

    func note() {
        time.withLock { $0 = .now }
    }

    func waitForInactivity(of timeout: Duration) async throws {
        while true {
            let end = time.withLock { $0 } + timeout
            guard end > .now else { return }
            try await Task.sleep(until: end)
            // After a late timer the process stood still: it first looks for the answer that came meanwhile.
            if ContinuousClock.now - end > .milliseconds(100) { try await Task.sleep(for: .seconds(3)) }
        }
    }
}

private struct WatchedBody: TransportBody {
    let source: any TransportBody
    let activity: LastActivity

    var length: Int64 { source.length }

    func next() async throws -> [UInt8]? {
        activity.note()
        return try await source.next()
    }
}
