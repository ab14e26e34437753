// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Glibc

/// The other end of a connection over the loopback interface.
package struct LoopbackPeer: Sendable {
    /// What the system tells about it.
    package enum Owner: Hashable, Sendable {
        /// A program of this user has it.
        case user(UInt32)
        /// It has hung up already, and whose it was is not known any more.
        case gone
        /// The system does not tell.
        case unknown
    }

    private let here: LoopbackAddress
    private let there: LoopbackAddress

    init(here: LoopbackAddress, there: LoopbackAddress) {
        (self.here, self.there) = (here, there)
    }

    /// - Parameter there: The address that `accept` gave.
    init?(of socket: Descriptor, at there: LoopbackAddress) {
        var here = LoopbackAddress()
        var length = here.length
        guard unsafe here.withMutablePointer({ unsafe getsockname(socket.raw, $0, &length) }) == 0 else { return nil }
        (self.here, self.there) = (here, there)
    }

    /// Whose program is at the other end, while this end is open; reads the system's tables, 0.1 ms.
    package func owner() -> Owner {
        owner { SocketTable.ofThisSystem() }
    }

    /// The same, with tables of the caller's.
    ///
    /// A socket whose program has hung up has no owner any more. So that nobody hides in that way, an end that is not listed
    /// is looked for again: if this end is still connected by then, the other was open all the time, only not here.
    func owner(in table: () -> SocketTable?) -> Owner {
        for _ in 0..<2 {
            guard let table = table() else { return .unknown }
            if let owner = table.owner(from: there.tableForms, to: here.tableForms) { return owner }
            guard table.isConnected(from: here.tableForms, to: there.tableForms) else { return .gone }
        }
        return .unknown
    }
}

/// The TCP sockets of this network namespace, as the kernel lists them in `/proc/net/tcp` and `tcp6`.
struct SocketTable {
    private let rows: [[Substring]]

    init(_ text: String) {
        // The kernel's columns: number, local address, remote address, state, queues, timer, retransmits, user, time-out, inode.
        rows = text.split(separator: "\n").map { $0.split(separator: " ") }.filter { $0.count > 9 }
    }

    /// `nil` where the system does not show its tables.
    static func ofThisSystem() -> SocketTable? {
        let texts = ["tcp", "tcp6"].map { text(of: "/proc/thread-self/net/\($0)") }
        // A system may have no IPv6.
        return texts[0].map { SocketTable($0 + (texts[1] ?? "")) }
    }

    func isConnected(from here: [String], to there: [String]) -> Bool {
        row(from: here, to: there)?[3] == "01"  // TCP_ESTABLISHED
    }

    /// Whose the socket is; `nil` when it is not listed.
    func owner(from here: [String], to there: [String]) -> LoopbackPeer.Owner? {
        guard let row = row(from: here, to: there) else { return nil }
        // A socket that no process has any more has no inode, and counts as root's.
        guard row[9] != "0", let user = UInt32(row[7]) else { return .gone }
        return .user(user)
    }

    private func row(from here: [String], to there: [String]) -> [Substring]? {
        rows.first { row in here.contains { $0 == row[1] } && there.contains { $0 == row[2] } }
    }

    private static func text(of path: String) -> String? {
        guard let file = unsafe fopen(path, "re") else { return nil }
        defer { unsafe fclose(file) }
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 64 * 1024)
        while case let count = unsafe fread(&buffer, 1, buffer.count, file), count > 0 { bytes += buffer[..<count] }
        return unsafe ferror(file) == 0 ? String(decoding: bytes, as: UTF8.self) : nil
    }
}

extension LoopbackAddress {
    /// How the kernel's tables write it: words of 32 bits in the machine's order. A socket of IPv6 that talks IPv4 has its
    /// addresses in the longer form.
    fileprivate var tableForms: [String] {
        let port = ":" + Self.hexadecimal(UInt32(port), digits: 4)
        return unsafe withBytes { bytes in
            let word = { (offset: Int) in
                unsafe Self.hexadecimal(bytes.loadUnaligned(fromByteOffset: offset, as: UInt32.self), digits: 8)
            }
            guard isIPv6 else {
                let mapped = Self.hexadecimal(UInt32(0xFFFF).bigEndian, digits: 8)
                return [word(4) + port, "0000000000000000" + mapped + word(4) + port]
            }
            return [stride(from: 8, to: 24, by: 4).map(word).joined() + port]
        }
    }

    private static func hexadecimal(_ number: UInt32, digits: Int) -> String {
        let text = String(number, radix: 16, uppercase: true)
        return String(repeating: "0", count: digits - text.count) + text
    }
}
