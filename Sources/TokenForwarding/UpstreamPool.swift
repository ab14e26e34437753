// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import CCurl
import Glibc
import Synchronization
import SystemSupport

/// A connection to the server, with TLS by libcurl. One request has it at a time.
final class UpstreamChannel: Sendable {
    enum Transfer {
        case bytes(Int)
        case wouldBlock
        case ended
        case broken
    }

    @safe private struct State {
        let transfer: OpaquePointer
        var descriptor: Int32 = -1
        var isReused = false
        /// When its last answer had ended.
        var since = ContinuousClock.now
        /// The number of bytes of a send that the TLS library has begun, and wants again.
        var begun = 0
        /// libcurl may tell of an end only once.
        var end: Transfer?
    }

    private let state: Mutex<State>

    /// - Parameter address: That of a transfer of its own. To the compiler the transfer's pointer would be bound to its driver, which
    ///   it only reads.
    fileprivate init?(at address: UInt) {
        guard let transfer = unsafe OpaquePointer(bitPattern: address) else { return nil }
        state = unsafe Mutex(State(transfer: transfer))
    }

    deinit {
        state.withLock { unsafe ccurl_transfer_free($0.transfer) }
    }

    var descriptor: Int32 { state.withLock { $0.descriptor } }

    /// Whether a request went through before this one.
    var isReused: Bool { state.withLock { $0.isReused } }

    /// When it has waited too long for a request.
    var end: ContinuousClock.Instant { state.withLock { $0.since + Self.longestWait } }

    /// Lets it wait for another request.
    func rest() {
        state.withLock { state in
            state.isReused = true
            state.since = .now
        }
    }

    private static let longestWait = Duration.seconds(60)

    /// Blocks until there is a connection, or for ten seconds.
    fileprivate func connect() throws(ForwardingProblem) {
        let reason: String? = state.withLock { state in
            let code = unsafe ccurl_channel_connect(state.transfer)
            guard Int(code) == CCURL_OK else {
                return unsafe String(cString: ccurl_transfer_reason(state.transfer, code))
            }
            state.descriptor = unsafe ccurl_channel_descriptor(state.transfer)
            return nil
        }
        if let reason { throw ForwardingProblem(.upstreamUnreachable, "The server cannot be reached: \(reason).") }
    }

    /// Sends the first bytes of a queue. After `wouldBlock` the same bytes must stand first in it.
    func send(_ queue: inout ByteQueue) -> Transfer {
        var sent = 0
        let code = state.withLock { state in
            let code = queue.withSpan(atMost: state.begun == 0 ? .max : state.begun) { bytes in
                state.begun = bytes.count
                return unsafe bytes.withUnsafeBytes {
                    unsafe ccurl_channel_send(state.transfer, $0.baseAddress, $0.count, &sent)
                }
            }
            if Int(code) == CCURL_OK { state.begun = 0 }
            return code
        }
        switch Int(code) {
        case CCURL_OK:
            queue.drop(sent)
            return .bytes(sent)
        case CCURL_AGAIN: return .wouldBlock
        default: return .broken
        }
    }

    /// Adds what has come to a queue.
    func receive(_ queue: inout ByteQueue) -> Transfer {
        state.withLock { state in
            if let end = state.end { return end }
            var code: Int32 = 0
            let before = queue.count
            unsafe queue.fill { room in
                var count = 0
                code = unsafe ccurl_channel_receive(state.transfer, room.baseAddress, room.count, &count)
                return Int(code) == CCURL_OK ? count : 0
            }
            switch Int(code) {
            case CCURL_AGAIN: return .wouldBlock
            case CCURL_OK where queue.count > before: return .bytes(queue.count - before)
            default:
                let end = Int(code) == CCURL_OK ? Transfer.ended : .broken
                state.end = end
                return end
            }
        }
    }

    /// Whether it can take a request. A server may have sent TLS's own messages meanwhile, or its end, or what no request asked
    /// for, which may wait in the TLS library.
    /// - Parameter queue: An empty one.
    func isUsable(_ queue: inout ByteQueue) -> Bool {
        defer { queue.clear() }
        guard end > .now, case .wouldBlock = receive(&queue) else { return false }
        return true
    }
}

/// The connections to one server that wait for a request.
final class UpstreamPool: Sendable {
    @safe private struct State {
        /// libcurl, from the first connection on.
        var driver: OpaquePointer?
        var waiting: [UpstreamChannel] = []
    }

    private static let mostWaiting = 8
    private let route: ForwardingRoute
    private let connectTime: Duration
    private let state = Mutex(State())

    init(_ route: ForwardingRoute, connectTime: Duration) {
        self.route = route
        self.connectTime = connectTime
    }

    deinit {
        state.withLock { state in
            state.waiting = []
            guard let driver = unsafe state.driver else { return }
            unsafe ccurl_driver_close(driver)
            unsafe ccurl_driver_free(driver)
        }
    }

    /// A connection that waits, or a new one.
    ///
    /// - Parameters:
    ///   - own: The one of the same client's last request, from which nothing has come since.
    ///   - queue: An empty one, for what should not have come.
    func channel(_ own: UpstreamChannel?, isFresh: Bool, _ queue: inout ByteQueue) throws(ForwardingProblem)
        -> UpstreamChannel
    {
        if !isFresh {
            if let own, own.end > .now { return own }
            while let channel = state.withLock({ $0.waiting.popLast() }) {
                if channel.isUsable(&queue) { return channel }
            }
        }
        guard let channel = make() else {
            throw ForwardingProblem(.upstreamUnreachable, "libcurl cannot be used. Install it: apt install libcurl4")
        }
        try channel.connect()
        return channel
    }

    /// Keeps the connection of a client that has left, for others.
    func keep(_ channel: UpstreamChannel) {
        state.withLock { state in
            if state.waiting.count < Self.mostWaiting { state.waiting.append(channel) }
        }
    }

    /// Ends the connections that have waited too long.
    /// - Returns: When the next one has; `nil` if none waits.
    func expire() -> ContinuousClock.Instant? {
        state.withLock { state in
            state.waiting.removeAll { $0.end <= .now }
            return state.waiting.map(\.end).min()
        }
    }

    private func make() -> UpstreamChannel? {
        state.withLock { state in
            if unsafe state.driver == nil {
                guard let driver = unsafe ccurl_driver_new() else { return nil }
                guard unsafe ccurl_driver_open(driver, "libcurl.so.4", "libcurl-gnutls.so.4", .max) == CCURL_READY
                else {
                    unsafe ccurl_driver_free(driver)
                    return nil
                }
                unsafe state.driver = driver
            }
            guard let driver = unsafe state.driver, let transfer = unsafe ccurl_transfer_new(driver, 0) else {
                return nil
            }
            unsafe ccurl_transfer_set_target(transfer, "GET", route.origin)
            unsafe ccurl_transfer_set_times(transfer, 0, Int(connectTime / .milliseconds(1)))
            if route.scheme == "http" {
                unsafe ccurl_transfer_set_loopback(transfer)
            } else if let proxy = route.proxy {
                unsafe ccurl_transfer_set_proxy(transfer, proxy)
            }
            if let file = route.certificateAuthorities {
                unsafe ccurl_transfer_set_only_authorities(transfer, file)
            } else {
                let (file, directory) = (
                    SystemCall.environment("SSL_CERT_FILE"), SystemCall.environment("SSL_CERT_DIR")
                )
                unsafe ccurl_transfer_set_authorities(transfer, file, directory)
            }
            return UpstreamChannel(at: UInt(bitPattern: transfer))
        }
    }
}
