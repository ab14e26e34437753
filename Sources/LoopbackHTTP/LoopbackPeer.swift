// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Glibc
import SystemSupport

/// The other end of a connection over the loopback interface.
package struct LoopbackPeer: Sendable {
    /// The peer's owner, as far as the system tells.
    package enum Owner: Hashable, Sendable {
        /// A program of this user has the other end.
        case user(UInt32)
        /// The other end has hung up, so that its owner is unknown.
        case gone
        /// The system does not tell.
        case unknown
    }

    private let here: LoopbackAddress
    private let there: LoopbackAddress

    init(here: LoopbackAddress, there: LoopbackAddress) {
        (self.here, self.there) = (here, there)
    }

    /// - Parameter there: The address from `accept`.
    init?(of socket: SharedDescriptor, at there: LoopbackAddress) {
        var here = LoopbackAddress()
        var length = here.length
        guard unsafe here.withMutablePointer({ unsafe getsockname(socket.raw, $0, &length) }) == 0 else { return nil }
        (self.here, self.there) = (here, there)
    }

    /// The owner of the other end, while this end is open. It takes less than 0.1 ms with `sock_diag`, and otherwise milliseconds.
    package func owner() -> Owner {
        diagnosed ?? owner { SocketTable.ofThisSystem() }
    }

    /// The owner as the kernel says when it is asked for this connection; `nil` if it knows no other end, or does not say.
    var diagnosed: Owner? { SocketQuestion.owner(from: there, to: here) }

    /// The same from the caller's tables alone.
    ///
    /// A socket whose program has hung up has no owner. So that no program hides in this way, an unlisted end is looked
    /// up again: if this end is then still connected, the other end was open all the time, on another system.
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
    /// Rows of number, local address, remote address, state, queues, timer, retransmits, user, time-out and inode; the text ends with a zero.
    private let text: [CChar]

    init(_ text: [CChar]) {
        self.text = text + [0]
    }

    /// `nil` if the system does not show its tables.
    static func ofThisSystem() -> SocketTable? {
        let texts = ["tcp", "tcp6"].map { text(of: "/proc/thread-self/net/\($0)") }
        // A system may have no IPv6.
        return texts[0].map { SocketTable($0 + (texts[1] ?? [])) }
    }

    func isConnected(from here: [String], to there: [String]) -> Bool {
        columns(from: here, to: there)?.first == "01"  // TCP_ESTABLISHED
    }

    /// The socket's owner; `nil` if the socket is not listed.
    func owner(from here: [String], to there: [String]) -> LoopbackPeer.Owner? {
        guard let columns = columns(from: here, to: there) else { return nil }
        // The kernel shows a socket without a process as root's, without an inode.
        guard columns.count > 6, columns[6] != "0", let user = UInt32(columns[4]) else { return .gone }
        return .user(user)
    }

    /// The columns after the two addresses. Only this row is split, because there may be thousands.
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

extension SocketTable {
    /// The bytes of an address in the form of the kernel's tables: words of 32 bits in the machine's order.
    static func form(of address: [UInt8]) -> String {
        stride(from: 0, to: address.count, by: 4).map { offset in
            let word = address[offset..<offset + 4].reduce(0) { $0 << 8 | UInt32($1) }
            return hexadecimal(word.bigEndian, digits: 8)
        }.joined()
    }

    static func form(ofPort port: UInt16) -> String { hexadecimal(UInt32(port), digits: 4) }

    private static func hexadecimal(_ number: UInt32, digits: Int) -> String {
        let text = String(number, radix: 16, uppercase: true)
        return String(repeating: "0", count: digits - text.count) + text
    }
}

extension LoopbackAddress {
    /// The address in the form of the kernel's tables. An IPv6 socket that uses IPv4 has its addresses in the longer form.
    fileprivate var tableForms: [String] {
        let port = ":" + SocketTable.form(ofPort: port)
        let bytes = unsafe withBytes { unsafe Array($0) }
        if isIPv6 { return [SocketTable.form(of: Array(bytes[8..<24])) + port] }
        let address = Array(bytes[4..<8])
        let mapped: [UInt8] = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF]
        return [SocketTable.form(of: address) + port, SocketTable.form(of: mapped + address) + port]
    }
}
