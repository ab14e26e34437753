// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Glibc
package import SystemSupport

/// Bound and listening sockets, one for each address, all with one port.
package struct ListeningSockets {
    package private(set) var descriptors: [SharedDescriptor]
    private(set) var hosts: [LoopbackServer.Host]
    package private(set) var port: UInt16

    private static let attempts = 10

    /// - Parameter port: 0 means any port that is free on all addresses.
    /// - Throws: ``LoopbackServerError``
    package static func open(hosts: [LoopbackServer.Host], port: UInt16) throws -> ListeningSockets {
        let hosts = LoopbackServer.Host.allCases.filter(hosts.contains)
        guard port == 0 else { return try open(hosts, port: port) }
        for _ in 0..<attempts {
            do {
                return try open(hosts, port: 0)
            } catch LoopbackServerError.portInUse {
                continue  // The port that was free on the first address is taken on the second.
            }
        }
        throw LoopbackServerError.noFreePort
    }

    /// Sockets that listen already, at one port of the loopback addresses; `nil` for others.
    package init?(listening descriptors: [SharedDescriptor]) {
        var ports: Set<UInt16> = []
        hosts = []
        for descriptor in descriptors {
            var address = LoopbackAddress()
            var length = address.length
            guard unsafe address.withMutablePointer({ unsafe getsockname(descriptor.raw, $0, &length) }) == 0,
                address.isLoopback
            else { return nil }
            ports.insert(address.port)
            hosts.append(address.isIPv6 ? .ipv6 : .ipv4)
        }
        guard ports.count == 1, let port = ports.first else { return nil }
        (self.descriptors, self.port) = (descriptors, port)
    }

    private init(at port: UInt16) { (descriptors, hosts, self.port) = ([], [], port) }

    private static func open(_ hosts: [LoopbackServer.Host], port: UInt16) throws -> ListeningSockets {
        var sockets = ListeningSockets(at: port)
        var missing = LoopbackServer.Host.ipv4
        for host in hosts {
            do {
                let (descriptor, bound) = try listen(host, port: sockets.port)
                sockets.descriptors.append(descriptor)
                sockets.hosts.append(host)
                sockets.port = bound
            } catch LoopbackServerError.addressUnavailable(let host) {
                missing = host
            }
        }
        guard !sockets.hosts.isEmpty else { throw LoopbackServerError.addressUnavailable(missing) }
        return sockets
    }

    private static func listen(_ host: LoopbackServer.Host, port: UInt16) throws -> (SharedDescriptor, UInt16) {
        let family = host == .ipv4 ? AF_INET : AF_INET6
        let type = Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue)
        let raw = socket(family, type, 0)
        guard raw >= 0 else { throw failure("socket", host, port) }
        let descriptor = SharedDescriptor(raw)

        // A connection of an earlier run that lingers must not hold the port. On Linux this never lets two programs
        // listen on it. SO_REUSEPORT would, and is not set.
        var on: Int32 = 1
        let size = socklen_t(MemoryLayout<Int32>.size)
        guard unsafe setsockopt(raw, SOL_SOCKET, SO_REUSEADDR, &on, size) == 0 else {
            throw failure("setsockopt", host, port)
        }
        if host == .ipv6, unsafe setsockopt(raw, Int32(IPPROTO_IPV6), IPV6_V6ONLY, &on, size) != 0 {
            throw failure("setsockopt", host, port)
        }
        // Inherited by the connections: a streamed answer's pieces leave at once.
        guard unsafe setsockopt(raw, Int32(IPPROTO_TCP), TCP_NODELAY, &on, size) == 0 else {
            throw failure("setsockopt", host, port)
        }
        var address = LoopbackAddress(host, port: port)
        guard unsafe address.withPointer({ unsafe bind(raw, $0, $1) }) == 0 else { throw failure("bind", host, port) }
        guard Glibc.listen(raw, 128) == 0 else { throw failure("listen", host, port) }
        var length = address.length
        guard unsafe address.withMutablePointer({ unsafe getsockname(raw, $0, &length) }) == 0 else {
            throw failure("getsockname", host, port)
        }
        return (descriptor, address.port)
    }

    private static func failure(_ call: String, _ host: LoopbackServer.Host, _ port: UInt16) -> LoopbackServerError {
        switch errno {
        case EADDRINUSE: .portInUse(port)
        case EACCES: .portNotPermitted(port)
        case EADDRNOTAVAIL, EAFNOSUPPORT: .addressUnavailable(host)
        case let code: .system(call: call, errno: code)
        }
    }
}

/// A socket address of either family.
struct LoopbackAddress {
    private var storage = sockaddr_storage()
    private(set) var length: socklen_t

    /// Room for any address.
    init() {
        length = socklen_t(MemoryLayout<sockaddr_storage>.size)
    }

    init(_ host: LoopbackServer.Host, port: UInt16) {
        switch host {
        case .ipv4:
            length = socklen_t(MemoryLayout<sockaddr_in>.size)
            unsafe withUnsafeMutableBytes(of: &storage) { bytes in
                var address = sockaddr_in()
                address.sin_family = sa_family_t(AF_INET)
                address.sin_port = port.bigEndian
                address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
                unsafe bytes.storeBytes(of: address, as: sockaddr_in.self)
            }
        case .ipv6:
            length = socklen_t(MemoryLayout<sockaddr_in6>.size)
            unsafe withUnsafeMutableBytes(of: &storage) { bytes in
                var address = sockaddr_in6()
                address.sin6_family = sa_family_t(AF_INET6)
                address.sin6_port = port.bigEndian
                address.sin6_addr = in6addr_loopback
                unsafe bytes.storeBytes(of: address, as: sockaddr_in6.self)
            }
        }
    }

    /// The port, which both families keep in the same place.
    var port: UInt16 {
        unsafe withUnsafeBytes(of: storage) { bytes in
            unsafe UInt16(bigEndian: bytes.load(fromByteOffset: 2, as: UInt16.self))
        }
    }

    /// Whether it is a socket in the file system.
    var isUnix: Bool { Int32(storage.ss_family) == AF_UNIX }

    var isIPv6: Bool { Int32(storage.ss_family) == AF_INET6 }

    /// Whether it is 127.0.0.0/8 or ::1.
    var isLoopback: Bool {
        unsafe withUnsafeBytes(of: storage) { bytes in
            switch Int32(storage.ss_family) {
            case AF_INET: unsafe bytes[4] == 127
            case AF_INET6: unsafe bytes[8..<23].allSatisfy { $0 == 0 } && bytes[23] == 1
            default: false
            }
        }
    }

    func withBytes<Result>(_ body: (UnsafeRawBufferPointer) -> Result) -> Result {
        unsafe withUnsafeBytes(of: storage) { unsafe body($0) }
    }

    mutating func withPointer<Result>(_ body: (UnsafePointer<sockaddr>, socklen_t) -> Result) -> Result {
        let length = length
        return unsafe withMutablePointer { unsafe body(UnsafePointer($0), length) }
    }

    mutating func withMutablePointer<Result>(_ body: (UnsafeMutablePointer<sockaddr>) -> Result) -> Result {
        unsafe withUnsafeMutablePointer(to: &storage) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { unsafe body($0) }
        }
    }
}

/// A client at one of the sockets that listen, or none.
package enum Acceptance {
    /// A client's connection, which never blocks; the peer is `nil` at a socket in the file system.
    case connection(SharedDescriptor, from: LoopbackPeer?)
    case none
    /// The process or the system has no room for another descriptor.
    case exhausted

    /// The next client at any of the sockets. Clients of another computer are turned away.
    ///
    /// - Parameter admitsOtherUsers: Whether a socket in the file system takes programs of other users.
    package static func next(at listeners: [SharedDescriptor], admitsOtherUsers: Bool) -> Acceptance {
        for listener in listeners {
            var peer = LoopbackAddress()
            var length = peer.length
            let raw = unsafe peer.withMutablePointer { unsafe Glibc.accept(listener.raw, $0, &length) }
            if raw >= 0 {
                let descriptor = SharedDescriptor(raw)
                // `accept4` is not visible to Swift. A child that starts in between keeps the socket, but our
                // `shutdown` still ends the connection.
                guard fcntl(raw, F_SETFD, FD_CLOEXEC) == 0, fcntl(raw, F_SETFL, O_NONBLOCK) == 0 else { continue }
                if peer.isLoopback, let peer = LoopbackPeer(of: descriptor, at: peer) {
                    return .connection(descriptor, from: peer)
                }
                if peer.isUnix, admitsOtherUsers || UnixSocket.peer(of: descriptor)?.user == geteuid() {
                    return .connection(descriptor, from: nil)
                }
            } else if [EMFILE, ENFILE, ENOBUFS, ENOMEM].contains(errno) {
                return .exhausted
            }
        }
        return .none
    }
}
