// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import OAuthWire
import Testing

/// The samples were made with zlib 1.3.
@Suite struct InflaterTests {
    private static let text = #"{"access_token":"a","token_type":"Bearer"}"#
    /// `{"k0":""}{"k1":"b"}{"k2":"cc"}` and so on, up to 40 texts.
    private static let long = (0..<40).map { index in
        let letter = String(UnicodeScalar(UInt8(97 + index % 26)))
        return #"{"k\#(index)":"\#(String(repeating: letter, count: index % 17))"}"#
    }.joined()

    private static let samples: [(String, String, String)] = [
        (
            "a fixed code", text,
            "H4sIAAAAAAAA/6tWSkxOTi0uji/Jz07NU7JSSlTSUQKz40sqC1KBAk6piUWpRUq1AJVhcysqAAAA"
        ),
        (
            "a stored block", text,
            "H4sIAAAAAAAA/wEqANX/eyJhY2Nlc3NfdG9rZW4iOiJhIiwidG9rZW5fdHlwZSI6IkJlYXJlciJ9lWFzKyoAAAA="
        ),
        (
            "codes of its own", long,
            """
            H4sIAAAAAAAA/12RSRaCQBBD79InYJLB2wg44vgEJx53t1KhC/SvkvSCFOldE7ilc0PvmlBEqSoSVVUqY5F1XatORK8FNQsxG6AuFbdV1GZi\
            d0R9Ln4/okEhwcHDr6NHYzBDpeMEQ7Q7zWCKouc5jNH58gNz1L/+wgdccvuDL5n9KJxzp8Qhbcu/hgu6rqNB9YdAh85PQIuyL4UeLd+EAep9Rpig\
            18rDCIVKg1mu0xkMC45ocNlgnNNgHPphDeaRTWzwIZ7GNviS+D8W4x7uHKe6M3XGfWnycVe6wu/phi+gZwf+pQIAAA==
            """
        ),
        (
            "a name, a comment and more in the head", text,
            """
            H4sIHgAAAAAA/wMAYWJjbmFtZQBjb21tZW50AAAAq1ZKTE5OLS6OL8nPTs1TslJKVNJRArPjSyoLUoECTqmJRalFSrUAlWFzKyoAAAA=
            """
        ),
        ("zlib's format", text, "eJyrVkpMTk4tLo4vyc9OzVOyUkpU0lECs+NLKgtSgQJOqYlFqUVKtQA9BQ6P"),
        ("nothing but deflate", text, "q1ZKTE5OLS6OL8nPTs1TslJKVNJRArPjSyoLUoECTqmJRalFSrUA"),
        (
            "two members", text,
            "H4sIAAAAAAAA/6tWSkxOTi0uji8BAG3i/30KAAAAH4sIAAAAAAAA/8vPTs1TslJKVNJRKskHsuNLKgtSgQJOqYlFqUVKtQCYkIWFIAAAAA=="
        ),
    ]

    private func bytes(_ base64: String) throws -> [UInt8] { Array(try #require(Data(base64Encoded: base64))) }

    @Test(arguments: samples.indices)
    func decompresses(_ index: Int) throws {
        let (name, expected, base64) = Self.samples[index]
        let (output, failure) = Inflater.decompressed(try bytes(base64), limit: 1 << 20)
        #expect(String(decoding: output, as: UTF8.self) == expected, "\(name)")
        #expect(failure == nil, "\(name)")
    }

    /// Cut off or changed anywhere, the bytes are refused or come out differently, and never more than the limit.
    @Test(arguments: samples.indices)
    func survivesDamage(_ index: Int) throws {
        let (name, expected, base64) = Self.samples[index]
        let whole = try bytes(base64)
        let trailer = Inflater.isGzip(whole) ? 8 : name == "zlib's format" ? 4 : 0
        for end in whole.indices.dropLast(trailer) {
            let (output, failure) = Inflater.decompressed(Array(whole[..<end]), limit: 1 << 20)
            let isWholeMember = expected.utf8.count > output.count && failure == nil && name == "two members"
            #expect(failure == .damaged || isWholeMember, "\(name), \(end) bytes")
            #expect(expected.utf8.starts(with: output))
        }
        for place in whole.indices {
            for bit in 0..<8 {
                var changed = whole
                changed[place] ^= 1 << UInt8(bit)
                #expect(Inflater.decompressed(changed, limit: 1000).output.count <= 1000)
            }
        }
    }

    @Test func endsAtTheLimit() throws {
        for limit in [0, 1, 41] {
            let (output, failure) = Inflater.decompressed(try bytes(Self.samples[0].2), limit: limit)
            #expect(failure == .tooLarge && output.count <= limit)
            #expect(Inflater.decompressed(try bytes(Self.samples[1].2), limit: limit).failure == .tooLarge)
        }
        #expect(Inflater.decompressed(try bytes(Self.samples[0].2), limit: 42).failure == nil)
    }

    @Test func tellsGzipFromText() throws {
        #expect(Inflater.isGzip(try bytes(Self.samples[0].2)))
        #expect(!Inflater.isGzip(Self.text.utf8) && !Inflater.isGzip([0x1F, 0x8B]) && !Inflater.isGzip([]))
    }
}
