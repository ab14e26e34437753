// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import IdentityClient
import OAuthWire

extension Helper {
    static let docker = Helper(
        name: "docker",
        link: "docker-credential-identityctl",
        hasOperation: true,
        options: ["--serves", "--username"],
        help: "'helper docker get' is for docker and its like, which ask 'docker-credential-identityctl get'.",
        answer: .call(DockerCredential.answer),
        // Docker reads a helper's standard output, and shows that. Some programs ask for every registry of the file, whatever
        // they pull: a sign-in that is missing for one of them must not end the others.
        failure: { cause, advice in
            let isSignedOut = ((cause as? AuthenticationError)?.code).map { .interactionRequired ~= $0 } ?? false
            return isSignedOut ? DockerCredential.miss : Helper.text(of: cause, advice, joinedBy: " ")
        }
    )
}

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

    fileprivate static func answer(_ call: HelperCall, _ session: Session) async throws {
        switch call.operation {
        case "get":
            let server = try Self.server(parsing: try HelperInput.request(endsAtEmptyLine: false))
            for address in addresses(server) {
                guard let source = try call.source(for: address, in: session),
                    let token = try await source.token(in: session)
                else { continue }
                let username = source.username ?? token.username ?? TokenUsername.any
                return try session.result(answer(server: server, username: username, token: token.text))
            }
            try session.result(miss + "\n")
            throw Ended(status: .other)
        case "store", "erase": return  // 'docker login' and 'docker logout' keep and end no sign-in here.
        case "list": try session.result("{}\n")
        case "version": try session.result("identityctl \(LibraryVersion.current)\n")
        default: throw UsageError("Unknown credential action `\(call.operation.printable)`")
        }
    }
}
