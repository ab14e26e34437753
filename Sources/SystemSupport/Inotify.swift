// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

package import Dispatch
import Glibc

/// The kernel's queue of events in watched directories.
package final class Inotify: Sendable {
    package struct Event {
        package let watch: Int32
        package let mask: UInt32
        /// The name of the changed file; empty if the event is about the directory itself.
        package let name: String

        package func isAny(of flags: Int32) -> Bool { mask & UInt32(bitPattern: flags) != 0 }
    }

    private let number: Int32

    package init() throws(SystemCallError) {
        number = inotify_init1(Int32(IN_NONBLOCK | IN_CLOEXEC))
        guard number >= 0 else { throw SystemCallError("inotify_init1", "inotify") }
    }

    deinit {
        close(number)
    }

    /// Watches a directory; `nil` if there is none at `path`.
    package func watch(_ path: String, for flags: Int32) throws(SystemCallError) -> Int32? {
        let watch = unsafe inotify_add_watch(number, path, UInt32(bitPattern: flags | IN_ONLYDIR))
        if watch >= 0 { return watch }
        if errno == ENOENT || errno == ENOTDIR { return nil }
        throw SystemCallError("inotify_add_watch", path)
    }

    /// Ends a watch; it may already have ended by itself.
    package func end(_ watch: Int32) {
        inotify_rm_watch(number, watch)
    }

    /// The events since the last call.
    package func events() -> [Event] {
        var events: [Event] = []
        while true {
            var count = 0
            let bytes = unsafe [UInt8](unsafeUninitializedCapacity: 16 << 10) { buffer, size in
                count = unsafe read(number, buffer.baseAddress, buffer.count)
                size = max(0, count)
            }
            if count < 0, errno == EINTR { continue }
            if count <= 0 { return events }
            Self.parse(bytes, into: &events)
        }
    }

    /// A source that calls `handler` on `queue` when there are events. Cancel the source before you release it.
    package func source(on queue: DispatchQueue, _ handler: @escaping @Sendable () -> Void) -> any DispatchSourceRead {
        let source = DispatchSource.makeReadSource(fileDescriptor: number, queue: queue)
        source.setEventHandler(handler: handler)
        // The descriptor is closed with this object, which must outlive the source's use of it.
        source.setCancelHandler { withExtendedLifetime(self) {} }
        return source
    }

    /// Each event: watch, mask, cookie and length of 4 bytes each, then the name with zeros behind it.
    private static func parse(_ bytes: [UInt8], into events: inout [Event]) {
        func word(at offset: Int) -> UInt32 {
            unsafe bytes.withUnsafeBytes { unsafe $0.loadUnaligned(fromByteOffset: offset, as: UInt32.self) }
        }
        var offset = 0
        while offset + 16 <= bytes.count {
            let length = Int(word(at: offset + 12))
            let end = offset + 16 + length
            guard end <= bytes.count else { return }
            events.append(
                Event(
                    watch: Int32(bitPattern: word(at: offset)),
                    mask: word(at: offset + 4),
                    name: String(decoding: bytes[(offset + 16)..<end].prefix { $0 != 0 }, as: UTF8.self)
                )
            )
            offset = end
        }
    }
}
