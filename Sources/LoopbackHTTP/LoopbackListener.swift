// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Glibc
import SystemSupport

/// The sockets of this network namespace that listen, by their local address and port in the form of the kernel's tables.
package struct LoopbackListener {
    private let owner: (String) -> LoopbackPeer.Owner?

    init(_ owner: @escaping (String) -> LoopbackPeer.Owner?) {
        self.owner = owner
    }

    /// Returns the owners of the sockets that take a connection to a host of this computer: one, or two for `localhost`, which
    /// has an address of each family.
    ///
    /// `unknown` alone means that no socket is listed: no program listens, the kernel hands the port on, or the programs of this
    /// computer are in another namespace. It takes less than 0.1 ms with `sock_diag`, and otherwise milliseconds.
    ///
    /// - Parameter host: In lower case: `localhost`, an address of 127.0.0.0/8, or `[::1]`.
    package static func owners(at host: String, port: UInt16) -> Set<LoopbackPeer.Owner> {
        (diagnosed(port) ?? tables() ?? LoopbackListener { _ in nil }).owners(at: host, port: port)
    }

    func owners(at host: String, port: UInt16) -> Set<LoopbackPeer.Owner> {
        let any = SocketTable.form(of: [0, 0, 0, 0])
        let local: [String] =
            host == "localhost" || host == "[::1]" ? [SocketTable.form(of: [UInt8](repeating: 0, count: 15) + [1])] : []
        let parts = host == "localhost" ? [127, 0, 0, 1] : host.split(separator: ".").compactMap { UInt8($0) }
        let mapped = SocketTable.form(of: [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF])
        let anyOfBoth = SocketTable.form(of: [UInt8](repeating: 0, count: 16))
        // In each list the socket that the kernel prefers stands first.
        var groups = local.map { [$0, anyOfBoth] }
        if parts.count == 4 {
            let address = SocketTable.form(of: parts)
            groups.append([address, mapped + address, any, anyOfBoth])
        }
        let end = ":" + SocketTable.form(ofPort: port)
        let owners = groups.compactMap { forms in forms.lazy.compactMap { owner($0 + end) }.first }
        return owners.isEmpty ? [.unknown] : Set(owners)
    }

    /// `nil` if the system does not show its tables.
    static func tables() -> LoopbackListener? {
        guard let table = SocketTable.ofThisSystem() else { return nil }
        let noPeer = [4, 16].map { SocketTable.form(of: [UInt8](repeating: 0, count: $0)) + ":0000" }
        return LoopbackListener { table.owner(from: [$0], to: noPeer) }
    }

    /// Asks the kernel for the sockets that listen on a port.
    ///
    /// - Returns: `nil` if a sandbox or the kernel does not let this process ask.
    /// - SeeAlso: `sock_diag(7)`
    static func diagnosed(_ port: UInt16) -> LoopbackListener? {
        guard let socket = SocketQuestion.socket() else { return nil }
        var found: [String: LoopbackPeer.Owner] = [:]
        for family in [AF_INET, AF_INET6] {
            let request = SocketQuestion.bytes(family: UInt8(family), port: port)
            guard case .bytes(request.count) = socket.send(request[...]) else { return nil }
            var isDone = false
            while !isDone {
                var answer = [UInt8](repeating: 0, count: 32 * 1024)
                guard case .bytes(let count) = socket.receive(into: &answer),
                    let end = SocketQuestion.read(answer[..<count], into: &found)
                else { return nil }
                isDone = end
            }
        }
        return LoopbackListener { [found] in found[$0] }
    }
}

/// A question to the kernel for sockets that listen or for one end of a connection, and its answer, as bytes in the machine's
/// order.
///
/// - SeeAlso: `sock_diag(7)`
enum SocketQuestion {
    private static let (byFamily, request, dump, done): (UInt16, UInt16, UInt16, UInt16) = (20, 1, 0x301, 3)

    /// A socket for questions, which waits for nothing; `nil` if there is none.
    static func socket() -> SharedDescriptor? {
        let type = Int32(SOCK_RAW.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue)
        let raw = Glibc.socket(AF_NETLINK, type, 4)
        return raw < 0 ? nil : SharedDescriptor(raw)
    }

    /// Asks for the sockets of a family that listen on a port.
    static func bytes(family: UInt8, port: UInt16) -> [UInt8] {
        let listening = UInt32(1) << 10  // TCP_LISTEN
        return bytes(dump, family, states: listening, ends: words(port.bigEndian) + [UInt8](repeating: 0, count: 34))
    }

    /// The owner of one end of a connection; `nil` if the kernel knows no such end, or does not let this process ask.
    ///
    /// A socket that its program has left has no inode.
    static func owner(from here: LoopbackAddress, to there: LoopbackAddress) -> LoopbackPeer.Owner? {
        let family = UInt8(here.isIPv6 ? AF_INET6 : AF_INET)
        let ends = words(here.port.bigEndian) + words(there.port.bigEndian) + here.padded + there.padded
        let question = bytes(request, family, states: .max, ends: ends)
        var answer = [UInt8](repeating: 0, count: 1024)
        guard let socket = socket(), case .bytes(question.count) = socket.send(question[...]),
            case .bytes(let count) = socket.receive(into: &answer), count >= 88,
            UInt16(truncatingIfNeeded: word(answer[...], 4)) == byFamily
        else { return nil }
        return word(answer[...], 84) == 0 ? .gone : .user(word(answer[...], 80))
    }

    /// The header of a message, and `struct inet_diag_req_v2`.
    private static func bytes(_ kind: UInt16, _ family: UInt8, states: UInt32, ends: [UInt8]) -> [UInt8] {
        let noCookie = [UInt8](repeating: 0xFF, count: 8)
        let head = words(72) + words(byFamily) + words(kind) + words(UInt32(1)) + words(UInt32(0))
        let question = [family, UInt8(IPPROTO_TCP), 0, 0] + words(states)
        return head + question + ends + words(UInt32(0)) + noCookie
    }

    /// Reads messages with `struct inet_diag_msg`.
    ///
    /// - Returns: Whether the last one was read; `nil` for an error.
    static func read(_ answer: ArraySlice<UInt8>, into found: inout [String: LoopbackPeer.Owner]) -> Bool? {
        var rest = answer
        while rest.count >= 16 {
            let length = Int(word(rest, 0))
            guard length >= 16, length <= rest.count else { return nil }
            let message = rest.prefix(length)
            switch UInt16(truncatingIfNeeded: word(message, 4)) {
            case done: return true
            case byFamily where length >= 88:
                let isIPv6 = message[message.startIndex + 16] == UInt8(AF_INET6)
                let address = Array(message.dropFirst(24).prefix(isIPv6 ? 16 : 4))
                let port = message.dropFirst(20).prefix(2).reduce(0) { $0 << 8 | UInt16($1) }
                found[SocketTable.form(of: address) + ":" + SocketTable.form(ofPort: port)] = .user(word(message, 80))
            default: return nil
            }
            rest = rest.dropFirst((length + 3) & ~3)
        }
        return false
    }

    private static func words(_ number: some FixedWidthInteger) -> [UInt8] {
        unsafe withUnsafeBytes(of: number) { unsafe Array($0) }
    }

    private static func words(_ number: Int) -> [UInt8] { words(UInt32(number)) }

    private static func word(_ bytes: ArraySlice<UInt8>, _ offset: Int) -> UInt32 {
        unsafe bytes.dropFirst(offset).prefix(4).withUnsafeBytes { unsafe $0.loadUnaligned(as: UInt32.self) }
    }
}

extension LoopbackAddress {
    /// The address without the port, in the 16 bytes of either family.
    fileprivate var padded: [UInt8] {
        unsafe withBytes { bytes in
            isIPv6 ? unsafe Array(bytes[8..<24]) : unsafe Array(bytes[4..<8]) + [UInt8](repeating: 0, count: 12)
        }
    }
}
