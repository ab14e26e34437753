// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import IdentityTestSupport

/// Compressed bodies, of stored blocks.
enum Compression {
    static func gzip(_ body: [UInt8]) -> [UInt8] {
        gzip(stored: blocks(body), checksum: checksum(body), count: body.count)
    }

    /// The coding `deflate`, in zlib's format.
    static func deflate(_ body: [UInt8]) -> [UInt8] {
        var (low, high): (UInt32, UInt32) = (1, 0)
        for byte in body {
            low = (low + UInt32(byte)) % 65521
            high = (high + low) % 65521
        }
        return [0x78, 1] + blocks(body) + littleEndian(high << 16 | low).reversed()
    }

    /// 2 MiB of zeros in 13 KiB: a zero, and 8,320 times a run of 258 that is copied from the zero before it.
    static let zeros: [UInt8] = {
        var bits: [UInt8] = [1, 1, 0]  // the last block, with the fixed code
        bits += [0, 0, 1, 1, 0, 0, 0, 0]  // a zero
        for _ in 0..<8320 { bits += [1, 1, 0, 0, 0, 1, 0, 1] + [0, 0, 0, 0, 0] }  // 258 bytes, one back
        bits += [0, 0, 0, 0, 0, 0, 0]
        let bytes = stride(from: 0, to: bits.count, by: 8).map { start in
            bits[start...].prefix(8).enumerated().reduce(UInt8(0)) { $0 | $1.element << UInt8($1.offset) }
        }
        let count = 8320 * 258 + 1
        return gzip(stored: bytes, checksum: checksum([UInt8](repeating: 0, count: count)), count: count)
    }()

    private static func gzip(stored: [UInt8], checksum: UInt32, count: Int) -> [UInt8] {
        [0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 0, 3] + stored + littleEndian(checksum)
            + littleEndian(UInt32(truncatingIfNeeded: count))
    }

    private static func blocks(_ body: [UInt8]) -> [UInt8] {
        let size = 0xFFFF
        return stride(from: 0, to: body.count, by: size).flatMap { start -> [UInt8] in
            let block = body[start..<min(start + size, body.count)]
            let length = [UInt8(block.count & 0xFF), UInt8(block.count >> 8)]
            return [block.endIndex == body.count ? 1 : 0] + length + length.map { ~$0 } + block
        }
    }

    private static func littleEndian(_ number: UInt32) -> [UInt8] {
        (0..<4).map { UInt8(truncatingIfNeeded: number >> (8 * UInt32($0))) }
    }

    /// CRC-32 (RFC 1952 §8).
    private static func checksum(_ body: [UInt8]) -> UInt32 {
        let table = (0..<256).map { index in
            var value = UInt32(index)
            for _ in 0..<8 {
                let half: UInt32 = value >> 1
                value = value & 1 == 1 ? 0xEDB8_8320 ^ half : half
            }
            return value
        }
        return ~body.reduce(~UInt32(0)) { table[Int(($0 ^ UInt32($1)) & 0xFF)] ^ $0 >> 8 }
    }
}

extension ScriptedServer {
    /// A server that answers each request with a body in a coding.
    convenience init(answering body: [UInt8], coding: String) throws {
        let head = "HTTP/1.1 200 OK\r\nContent-Encoding: \(coding)\r\nContent-Length: \(body.count)\r\n\r\n"
        try self.init { _ in [.send(Array(head.utf8) + body)] }
    }
}
