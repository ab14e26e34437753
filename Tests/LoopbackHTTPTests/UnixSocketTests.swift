// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import SystemSupport
import Testing

@testable import LoopbackHTTP

@Suite struct UnixSocketTests {
    /// Another program removes the name of a socket that refuses connections, so the name must not exist before the socket
    /// listens.
    @Test func appearsWhenSomebodyListens() throws {
        let directory = FileManager.default.temporaryDirectory.appending(path: "socket-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: directory) }
        let watch = inotify_init1(Int32(IN_NONBLOCK))
        defer { close(watch) }
        #expect(unsafe inotify_add_watch(watch, directory.path, UInt32(IN_CREATE | IN_MOVED_TO)) > 0)
        let socket = try UnixSocket.listen(at: directory.appending(path: "a-name").path)
        var buffer = [UInt8](repeating: 0, count: 4096)
        let count = unsafe read(watch, &buffer, buffer.count)
        // Each event has a watch, mask, cookie and length of four bytes each, then the name, padded with zeros.
        var events: [(mask: UInt32, name: String)] = []
        var rest = buffer.prefix(max(0, count))
        while rest.count >= 16 {
            let field = { (offset: Int) in
                rest.dropFirst(offset).prefix(4).reversed().reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
            }
            let (mask, length) = (field(4), Int(field(12)))
            let name = rest.dropFirst(16).prefix(length).prefix { $0 != 0 }
            events.append((mask, String(decoding: name, as: UTF8.self)))
            rest = rest.dropFirst(16 + length)
        }
        #expect(events.map(\.name) == [".-name", "a-name"])
        #expect(events.map(\.mask) == [UInt32(IN_CREATE), UInt32(IN_MOVED_TO)])
        withExtendedLifetime(socket) {}
    }
}
