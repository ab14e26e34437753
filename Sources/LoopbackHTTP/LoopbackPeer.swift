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

    /// Whose program is at the other end, while this end is open. Reads the system's tables, which takes milliseconds.
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
    /// Rows of: number, local address, remote address, state, queues, timer, retransmits, user, time-out, inode. Ended by a zero.
    private let text: [CChar]

    init(_ text: [CChar]) {
        self.text = text + [0]
    }

    /// `nil` where the system does not show its tables.
    static func ofThisSystem() -> SocketTable? {
        let texts = ["tcp", "tcp6"].map { text(of: "/proc/thread-self/net/\($0)") }
        // A system may have no IPv6.
        return texts[0].map { SocketTable($0 + (texts[1] ?? [])) }
    }

    func isConnected(from here: [String], to there: [String]) -> Bool {
        columns(from: here, to: there)?.first == "01"  // TCP_ESTABLISHED
    }

    /// Whose the socket is; `nil` when it is not listed.
    func owner(from here: [String], to there: [String]) -> LoopbackPeer.Owner? {
        guard let columns = columns(from: here, to: there) else { return nil }
        // A socket that no process has any more has no inode, and counts as root's.
        guard columns.count > 6, columns[6] != "0", let user = UInt32(columns[4]) else { return .gone }
        return .user(user)
    }

    /// What stands behind the two addresses. Only their row is taken apart: there may be thousands.
    private func columns(from here: [String], to there: [String]) -> [Substring]? {
        unsafe text.withUnsafeBufferPointer { text in
            for ends in here.flatMap({ here in there.map { "\(here) \($0) " } }) {
                guard let start = text.baseAddress, let row = unsafe strstr(start, ends) else { continue }
                let length = unsafe strcspn(row, "\n")
                let bytes = unsafe UnsafeRawBufferPointer(start: row, count: length).dropFirst(ends.utf8.count)
                return unsafe String(decoding: bytes, as: UTF8.self).split(separator: " ")
            }
            return nil
        }
    }

    private static func text(of path: String) -> [CChar]? {
        guard let file = unsafe fopen(path, "re") else { return nil }
        defer { unsafe fclose(file) }
        var text: [CChar] = []
        var buffer = [CChar](repeating: 0, count: 64 * 1024)
        while case let count = unsafe fread(&buffer, 1, buffer.count, file), count > 0 { text += buffer[..<count] }
        return unsafe ferror(file) == 0 ? text : nil
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
