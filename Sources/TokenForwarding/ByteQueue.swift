// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

/// Bytes on their way from one end to the other, in a room that never grows.
struct ByteQueue {
    /// A head with the longest token fits.
    static let capacity = 88 * 1024
    /// The most that one read takes, so that what is on its way stays small.
    private static let readBytes = 32 * 1024

    private var storage: [UInt8]
    private var (start, end) = (0, 0)

    init() {
        // Pages that are never used are never touched. No byte is read before it is written.
        storage = unsafe [UInt8](unsafeUninitializedCapacity: Self.capacity) { _, count in count = Self.capacity }
    }

    var count: Int { end - start }
    var isEmpty: Bool { start == end }
    /// The number of bytes that can be added now.
    var room: Int { Self.capacity - end }

    /// Calls `body` with the first bytes.
    func withSpan<Result, Failure: Error>(
        atMost limit: Int = .max,
        _ body: (Span<UInt8>) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try body(storage.span.extracting(start..<start + min(limit, count)))
    }

    /// Forgets the first bytes.
    mutating func drop(_ count: Int) {
        start += count
        if start == end { clear() }
    }

    /// Forgets all bytes.
    mutating func clear() { (start, end) = (0, 0) }

    /// Moves the bytes to the front, where the room at the end is short. Not for bytes that a TLS library has begun to send.
    mutating func compact() {
        guard start > 0, room < Self.readBytes else { return }
        let bytes = Array(storage[start..<end])
        clear()
        append(bytes.span)
    }

    /// Adds bytes for which there is room.
    mutating func append(_ bytes: Span<UInt8>) {
        let place = end..<end + bytes.count
        unsafe bytes.withUnsafeBytes { source in
            unsafe storage.withUnsafeMutableBytes {
                unsafe UnsafeMutableRawBufferPointer(rebasing: $0[place]).copyMemory(from: source)
            }
        }
        end = place.upperBound
    }

    mutating func append(_ bytes: [UInt8]) { append(bytes.span) }

    /// Adds what `read` writes: it gets the room, and returns the number of bytes.
    mutating func fill(_ read: (UnsafeMutableRawBufferPointer) -> Int) {
        let place = end..<end + min(room, Self.readBytes)
        end += unsafe storage.withUnsafeMutableBytes { bytes in
            unsafe read(UnsafeMutableRawBufferPointer(rebasing: bytes[place]))
        }
    }
}
