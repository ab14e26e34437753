// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import OAuthWire

/// The messages of docker's credential helpers.
///
/// - SeeAlso: [docker-credential-helpers](https://github.com/docker/docker-credential-helpers)
enum DockerCredential {
    /// The text that means "ask without a credential". Docker compares it literally.
    static let miss = "credentials not found in native keychain"

    /// Returns the server that docker names: an address, or a host and port alone.
    static func server(parsing bytes: [UInt8]) throws -> String {
        guard bytes.count <= 4096, let text = String(validating: bytes, as: UTF8.self) else {
            throw UsageError("docker sent no server's address.")
        }
        let server = String(text.drop(while: \.isWhitespace).prefix { !$0.isNewline })
        guard !server.isEmpty else { throw UsageError("no credentials server URL") }
        return server
    }

    /// Returns the address of `server`. Registries without a scheme have TLS.
    static func address(_ server: String) -> ServedAddress? {
        ServedAddress(server.contains("://") ? server : "https://\(server)")
    }

    /// Returns the answer to `get`.
    static func answer(server: String, username: String, token: String) -> String {
        let answer = JSONObject([
            ("ServerURL", .string(server)), ("Username", .string(username)), ("Secret", .string(token)),
        ])
        return String(decoding: answer.serialized(), as: UTF8.self) + "\n"
    }
}
