// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import OAuthWire

func json(_ text: String) throws -> JSONObject { try JSONObject(parsing: Array(text.utf8)) }

func text(_ object: JSONObject) -> String { String(decoding: object.serialized(), as: UTF8.self) }

/// Items as strings, because arrays of tuples cannot be compared.
func lines(_ items: [(String, String)]) -> [String] { items.map { "\($0.0)=\($0.1)" } }

/// A generator with a seed, so that a failing input can be found again (SplitMix64).
struct SeededGenerator: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var word = state
        word = (word ^ (word >> 30)) &* 0xBF58_476D_1CE4_E5B9
        word = (word ^ (word >> 27)) &* 0x94D0_49BB_1331_11EB
        return word ^ (word >> 31)
    }
}
