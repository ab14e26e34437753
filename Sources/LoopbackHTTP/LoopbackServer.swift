// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

/// A small HTTP/1.1 server for this machine alone: the receiver of redirects, and the embedded provider's door.
///
/// It listens on loopback addresses and no others. One thread of its own does all the waiting; requests are answered by
/// tasks. Dropping the last reference closes it, so hold on to it.
package final class LoopbackServer: Sendable {
    /// The addresses that can be listened on.
    package enum Host: String, Hashable, Sendable, CaseIterable {
        case ipv4 = "127.0.0.1"
        case ipv6 = "[::1]"
    }

    /// What one sender can take of us.
    package struct Limits: Hashable, Sendable {
        /// Connections at a time; more wait unaccepted.
        package var maximumConnections = 16
        /// Bytes of the request line.
        package var maximumRequestLineLength = 8 * 1024
        /// Bytes of the request line and the headers together. A browser sends what every program on this machine, at
        /// whatever port, has given it as a cookie for `localhost`.
        package var maximumHeadLength = 64 * 1024
        /// Bytes of a request's body.
        package var maximumBodyLength = 64 * 1024
        /// For a whole request to arrive, the wait on a kept connection included; and for a reader that takes nothing.
        package var requestDeadline: Duration = .seconds(10)

        package init() {}
    }

    /// The port of every address that is listened on.
    package let port: UInt16

    /// The addresses that are listened on: all that were asked for, except IPv6 where the machine has none.
    package let hosts: [Host]

    private let channel: LoopChannel

    /// Listens and begins to answer.
    ///
    /// - Parameters:
    ///   - hosts: At least one. Where the machine has no IPv6, IPv4 alone is enough.
    ///   - port: 0 takes any that is free on all of them.
    ///   - refuse: What a client gets whose request cannot be read, by the status; its body is one of bytes.
    ///   - onTLS: Called on the server's thread when a client begins with TLS, which is not spoken here. The connection is
    ///     closed at once, so that a browser says so, or falls back.
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
        let channel = try LoopChannel(listeners: sockets.descriptors)
        try DetachedThread.start {
            ConnectionLoop(channel: channel, limits: limits, refuse: refuse, onTLS: onTLS, respond: respond)
                .run()
        }
        return LoopbackServer(port: sockets.port, hosts: sockets.hosts, channel: channel)
    }

    /// Listens on a socket in the file system, for this user's programs alone, and begins to answer.
    ///
    /// - Parameters:
    ///   - path: Where nothing is yet. The caller removes it afterwards.
    ///   - respond: As for ports.
    /// - Throws: ``LoopbackServerError``
    package static func start(
        unixSocket path: String,
        limits: Limits = Limits(),
        respond: @escaping @Sendable (LoopbackRequest) async -> LoopbackResponse
    ) throws -> LoopbackServer {
        let channel = try LoopChannel(listeners: [try UnixSocket.listen(at: path)])
        try DetachedThread.start {
            ConnectionLoop(channel: channel, limits: limits, respond: respond).run()
        }
        return LoopbackServer(port: 0, hosts: [], channel: channel)
    }

    private init(port: UInt16, hosts: [Host], channel: LoopChannel) {
        self.port = port
        self.hosts = hosts
        self.channel = channel
    }

    deinit {
        close()
    }

    /// Refuses connections from now on, frees the port, ends the open connections and cancels what is being answered.
    package func close() {
        channel.close()
    }
}

/// Why a ``LoopbackServer`` cannot listen.
package enum LoopbackServerError: Error, Hashable, Sendable {
    /// Another program listens on it.
    case portInUse(UInt16)
    /// The system reserves it.
    case portNotPermitted(UInt16)
    /// The machine has no such address.
    case addressUnavailable(LoopbackServer.Host)
    /// None was free on all addresses, after several tries.
    case noFreePort
    /// A system call failed for another reason.
    case system(call: String, errno: Int32)
}

extension LoopbackServerError: CustomStringConvertible {
    package var description: String {
        switch self {
        case .portInUse(let port): "port \(port) is used by another program"
        case .portNotPermitted(let port): "port \(port) is reserved by the system"
        case .addressUnavailable(let host): "this machine has no address \(host.rawValue)"
        case .noFreePort: "no port is free"
        case .system(let call, let errno): "\(call) failed with error \(errno)"
        }
    }
}
