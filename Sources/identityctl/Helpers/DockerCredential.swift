// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import OAuthWire

/// The messages of docker's credential helpers.
///
/// - SeeAlso: [docker-credential-helpers](https://github.com/docker/docker-credential-helpers)
enum DockerCredential {
    /// The text that means "ask without a credential". Docker compares it literally.
    static let miss = "credentials not found in native keychain"

    /// Returns the server that docker names: an address, or a host and port alone.
    ///
    /// - Throws: `UsageError` for other bytes than those of one address, also for a second line.
    static func server(parsing bytes: [UInt8]) throws -> String {
        let isBlank = { (byte: UInt8) in [0x20, 0x09, 0x0A, 0x0D].contains(byte) }
        let server = bytes.trimmingPrefix(while: isBlank).reversed().trimmingPrefix(while: isBlank).reversed()
        guard !server.isEmpty else { throw UsageError("no credentials server URL") }
        guard server.count <= 4096, server.areVisible else {
            throw UsageError("docker sent no server's address.")
        }
        return String(decoding: server, as: UTF8.self)
    }

    /// Returns the addresses that `server` can mean. Docker names no scheme: registries have TLS, except on this computer,
    /// where docker tries both.
    static func addresses(_ server: String) -> [ServedAddress] {
        let texts = server.contains("://") ? [server] : ["https://\(server)", "http://\(server)"]
        return texts.compactMap(ServedAddress.init(asked:))
    }

    /// Returns the answer to `get`.
    static func answer(server: String, username: String, token: String) -> String {
        let answer = JSONObject([
            ("ServerURL", .string(server)), ("Username", .string(username)), ("Secret", .string(token)),
        ])
        return String(decoding: answer.serialized(), as: UTF8.self) + "\n"
    }
}
