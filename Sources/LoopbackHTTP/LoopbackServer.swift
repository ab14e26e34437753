// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Glibc
import SystemSupport

/// A small HTTP/1.1 server for this machine only, for the redirect receiver and the embedded provider.
///
/// It listens only on loopback addresses. Its own thread does all the waiting; tasks answer the requests. Releasing the
/// last reference closes the server, so keep it.
package final class LoopbackServer: Sendable {
    /// The addresses on which a server can listen.
    package enum Host: String, Hashable, Sendable, CaseIterable {
        case ipv4 = "127.0.0.1"
        case ipv6 = "[::1]"
    }

    /// Limits on the resources that one sender can use.
    package struct Limits: Hashable, Sendable {
        /// Connections at a time; additional clients wait unaccepted.
        package var maximumConnections = 16
        /// Bytes of the request line.
        package var maximumRequestLineLength = 8 * 1024
        /// Bytes of the request line and the headers together. A browser sends the `localhost` cookies of every program
        /// on this machine, whatever the port.
        package var maximumHeadLength = 64 * 1024
        /// Bytes of a request's body.
        package var maximumBodyLength = 64 * 1024
        /// The time for a whole request to arrive, including the wait on a kept connection; also the limit for a
        /// stalled reader.
        package var requestDeadline: Duration = .seconds(10)

        package init() {}
    }

    /// The port, the same for every address.
    package let port: UInt16

    /// The addresses: all requested ones, except IPv6 if the machine has none.
    package let hosts: [Host]

    private let channel: LoopChannel

    /// Starts to listen and to answer.
    ///
    /// - Parameters:
    ///   - hosts: At least one address. If the machine has no IPv6, IPv4 alone is enough.
    ///   - port: 0 means any port that is free on all addresses.
    ///   - refuse: Makes the answer to an unreadable request, by the status; its body is `bytes`.
    ///   - onTLS: Called on the server's thread if a client begins with TLS, which this server does not support. The
    ///     connection is closed at once, so that a browser shows an error, or falls back.
    ///   - respond: Answers one request, in a task that is cancelled when the connection breaks or the server closes.
    /// - Throws: ``LoopbackServerError``
    package static func start(
        hosts: [Host] = [.ipv4],
        port: UInt16 = 0,
        limits: Limits = Limits(),
        refuse: @escaping @Sendable (Int) -> LoopbackResponse = { LoopbackResponse(status: $0) },
        onTLS: @escaping @Sendable () -> Void = {},
        respond: @escaping @Sendable (LoopbackRequest) async -> LoopbackResponse
    ) throws -> LoopbackServer {
        let sockets = try ListeningSockets.open(hosts: hosts, port: port)
        do {
            let channel = try LoopChannel(listeners: sockets.descriptors)
            try DetachedThread.start {
                ConnectionLoop(channel: channel, limits: limits, refuse: refuse, onTLS: onTLS, respond: respond)
                    .run()
            }
            return LoopbackServer(port: sockets.port, hosts: sockets.hosts, channel: channel)
        } catch let error as SystemCallError { throw LoopbackServerError(error) }
    }

    /// Listens on a socket in the file system, only for this user's programs, and starts to answer.
    ///
    /// - Parameters:
    ///   - path: A path that does not exist yet. The caller removes the socket afterwards.
    ///   - respond: As for ports.
    /// - Throws: ``LoopbackServerError``
    package static func start(
        unixSocket path: String,
        limits: Limits = Limits(),
        respond: @escaping @Sendable (LoopbackRequest) async -> LoopbackResponse
    ) throws -> LoopbackServer {
        do {
            let channel = try LoopChannel(listeners: [try UnixSocket.listen(at: path)])
            try DetachedThread.start {
                ConnectionLoop(channel: channel, limits: limits, respond: respond).run()
            }
            return LoopbackServer(port: 0, hosts: [], channel: channel)
        } catch let error as SystemCallError { throw LoopbackServerError(error) }
    }

    private init(port: UInt16, hosts: [Host], channel: LoopChannel) {
        self.port = port
        self.hosts = hosts
        self.channel = channel
    }

    deinit {
        close()
    }

    /// Refuses new connections, frees the port, ends the open connections and cancels running answers.
    package func close() {
        channel.close()
    }
}

/// Why a ``LoopbackServer`` cannot listen.
package enum LoopbackServerError: Error, Hashable, Sendable {
    /// Another program listens on this port.
    case portInUse(UInt16)
    /// The system reserves this port.
    case portNotPermitted(UInt16)
    /// The machine has no such address.
    case addressUnavailable(LoopbackServer.Host)
    /// No port was free on all addresses, after several tries.
    case noFreePort
    /// A system call failed for another reason.
    case system(call: String, errno: Int32)

    init(_ error: SystemCallError) {
        self = .system(call: "\(error.call)", errno: error.number)
    }
}

extension LoopbackServerError: CustomStringConvertible {
    package var description: String {
        switch self {
        case .portInUse(let port): "port \(port) is used by another program"
        case .portNotPermitted(let port): "port \(port) is reserved by the system"
        case .addressUnavailable(let host): "this machine has no address \(host.rawValue)"
        case .noFreePort: "no port is free"
        case .system(_, ENAMETOOLONG): "the path of a socket has at most \(UnixSocket.maximumPathBytes) bytes"
        case .system(let call, let errno): "\(call) failed with error \(errno)"
        }
    }
}
