// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import Synchronization

/// The bytes between one exchange's caller and the driver's thread. Neither waits for the other's locks, and each side
/// holds one piece at most.
final class CurlStream: Sendable {
    private struct State {
        var head: HTTPResponse?
        var headWaiter: CheckedContinuation<HTTPResponse, any Error>?
        var received: [UInt8] = []
        var bodyWaiter: CheckedContinuation<[UInt8]?, any Error>?
        var outgoing: [UInt8]?
        var giver: CheckedContinuation<Void, any Error>?
        var reader: CheckedContinuation<Void, any Error>?
        var end: Result<Void, any Error>?
    }

    /// The bytes of an answer that may wait in libcurl's buffer before the server is slowed down.
    static let window = 256 << 10

    private let state = Mutex(State())
}

// The caller's side.
extension CurlStream {
    /// The head of the answer. Call it once.
    func head() async throws -> HTTPResponse {
        try await withCheckedThrowingContinuation { continuation in
            let outcome: Result<HTTPResponse, any Error>? = state.withLock { state in
                if let head = state.head { return .success(head) }
                if case .failure(let error)? = state.end { return .failure(error) }
                state.headWaiter = continuation
                return nil
            }
            if let outcome { continuation.resume(with: outcome) }
        }
    }

    /// The next piece of the answer's body; `nil` at its end. One call at a time.
    func next() async throws -> [UInt8]? {
        try await withCheckedThrowingContinuation { continuation in
            let outcome: Result<[UInt8]?, any Error>? = state.withLock { state in
                if !state.received.isEmpty {
                    defer { state.received = [] }
                    return .success(state.received)
                }
                if let end = state.end { return end.map { nil } }
                state.bodyWaiter = continuation
                return nil
            }
            if let outcome { continuation.resume(with: outcome) }
        }
    }

    /// Passes on a piece of the request's body, after the previous piece was taken. One call at a time.
    ///
    /// - Throws: `CancellationError` if the exchange has ended.
    func give(_ piece: [UInt8]) async throws {
        try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
            let outcome: Result<Void, any Error>? = state.withLock { state in
                if state.end != nil { return .failure(CancellationError()) }
                guard state.outgoing == nil else {
                    state.giver = continuation
                    return nil
                }
                return .success(())
            }
            if let outcome { continuation.resume(with: outcome) }
        }
        state.withLock { $0.outgoing = piece }
    }

    /// Waits until libcurl has read all pieces, and wants more. One call, after the last piece.
    ///
    /// - Parameter wake: Wakes the thread, which looks for this wait.
    /// - Throws: `CancellationError` if the exchange has ended.
    func waitUntilRead(_ wake: () -> Void) async throws {
        try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
            let hasEnded = state.withLock { state in
                if state.end == nil { state.reader = continuation }
                return state.end != nil
            }
            if hasEnded { continuation.resume(throwing: CancellationError()) } else { wake() }
        }
    }

    /// Ends the exchange. Arrived bytes may still be taken, unless the caller cancelled.
    /// - Returns: `false` if the exchange had already ended.
    @discardableResult
    func end(_ result: Result<Void, any Error>) -> Bool {
        let waiters: State? = state.withLock { state in
            guard state.end == nil else { return nil }
            let waiters = state
            state.end = result
            if case .failure(let error) = result, error is CancellationError { state.received = [] }
            state.headWaiter = nil
            state.bodyWaiter = nil
            state.giver = nil
            state.reader = nil
            state.outgoing = nil
            return waiters
        }
        guard let waiters else { return false }
        switch result {
        case .success:
            waiters.bodyWaiter?.resume(returning: nil)
        case .failure(let error):
            waiters.headWaiter?.resume(throwing: error)
            waiters.bodyWaiter?.resume(throwing: error)
        }
        waiters.giver?.resume(throwing: CancellationError())
        waiters.reader?.resume(throwing: CancellationError())
        return true
    }
}

// The thread's side.
extension CurlStream {
    var awaitsHead: Bool { state.withLock { $0.head == nil } }

    /// Whether the arrived bytes were taken.
    var hasRoom: Bool { state.withLock { $0.received.isEmpty } }

    func deliver(_ head: HTTPResponse) {
        let waiter = state.withLock { state in
            state.head = head
            defer { state.headWaiter = nil }
            return state.headWaiter
        }
        waiter?.resume(returning: head)
    }

    func deliver(_ bytes: [UInt8]) {
        guard !bytes.isEmpty else { return }
        let waiter = state.withLock { state in
            guard let waiter = state.bodyWaiter else {
                if state.end == nil { state.received += bytes }
                return nil as CheckedContinuation<[UInt8]?, any Error>?
            }
            state.bodyWaiter = nil
            return waiter
        }
        waiter?.resume(returning: bytes)
    }

    /// The next piece of the request's body, if there is one. libcurl has read the one before.
    func takeOutgoing() -> [UInt8]? {
        let (piece, waiter) = state.withLock { state in
            let piece = state.outgoing
            let waiter = piece == nil ? state.reader : state.giver
            if piece == nil { state.reader = nil } else { state.giver = nil }
            state.outgoing = nil
            return (piece, waiter)
        }
        waiter?.resume()
        return piece
    }
}
