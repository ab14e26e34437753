// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import OAuthWire

/// The messages of cargo's credential providers, one on a line.
///
/// - SeeAlso: [Protocol](https://doc.rust-lang.org/cargo/reference/credential-provider-protocol.html)
struct CargoCredential: Hashable, Sendable {
    /// The first line: the versions of the protocol.
    static let hello = "{\"v\":[1]}\n"

    /// The answer that makes cargo ask its next provider. Another error would be the last word, also at a login to crates.io.
    static let notServed = line("Err", JSONObject([("kind", .string("url-not-supported"))]))

    /// Whether cargo wants a token: not `login`, `logout`, or an operation of a later cargo.
    let wantsToken: Bool
    /// The registry's address, without cargo's word for its kind.
    let address: ServedAddress?
    /// The words after the program's name in cargo's configuration.
    let arguments: [String]

    /// - Throws: `UsageError` for a line that cargo does not write.
    init(parsing line: [UInt8]) throws {
        guard let object = try? JSONObject(parsing: line), object.integer("v") == 1,
            let kind = object.string("kind"), let index = object.object("registry")?.string("index-url")
        else { throw UsageError("cargo sent no request of version 1.") }
        wantsToken = kind == "get"
        address = ServedAddress(asked: String(index.trimmingPrefix("sparse+").trimmingPrefix("registry+")))
        switch object["args"] {
        case nil, .null: arguments = []
        case .array(let words):
            arguments = words.compactMap(\.string)
            guard arguments.count == words.count else { throw UsageError("cargo sent arguments that are no texts.") }
        default: throw UsageError("cargo sent arguments that are no list.")
        }
    }

    /// Returns the answer with the text that cargo sends in the header `Authorization`.
    static func answer(header: String, expiresOn seconds: Int) -> String {
        line(
            "Ok",
            JSONObject([
                ("kind", .string("get")), ("token", .string(header)), ("cache", .string("expires")),
                ("expiration", .integer(seconds)), ("operation_independent", .bool(true)),
            ])
        )
    }

    static func answer(failure message: String) -> String {
        line("Err", JSONObject([("kind", .string("other")), ("message", .string(message)), ("caused-by", .array([]))]))
    }

    private static func line(_ outcome: String, _ content: JSONObject) -> String {
        String(decoding: JSONObject([(outcome, .object(content))]).serialized(), as: UTF8.self) + "\n"
    }
}
