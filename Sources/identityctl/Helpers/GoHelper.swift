// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import OAuthWire

extension Helper {
    static let go = Helper(
        name: "go",
        options: ["--serves"],
        help: "'helper go' is for Go, in its variable GOAUTH.",
        answer: .words(GoCredential.answer)
    )
}

/// The messages between Go and the command in `GOAUTH`.
///
/// Go asks at the start of each command that may need the network, without an address, and takes fields for many addresses.
/// It asks once more with the address of an answer that is an error, and with the answer's head on standard input. It hides
/// what the command says of a failure.
///
/// - SeeAlso: `go help goauth` of Go 1.24
enum GoCredential {
    /// Returns the fields for all addresses below one.
    static func answer(_ address: ServedAddress, token: String) -> String {
        "\(address.text)/\n\nAuthorization: Bearer \(token)\n\n"
    }

    /// Whether an answer refuses the token: not 404, which Go shows as well.
    static func isRefusal(_ head: [UInt8]) -> Bool {
        let lines = String(decoding: head, as: UTF8.self).split(whereSeparator: \.isNewline)
        let words = lines.first?.split(separator: " ") ?? []
        guard words.count > 1, words[0].hasPrefix("HTTP/") else { return false }
        let challenges = lines.dropFirst().filter { $0.lowercased().hasPrefix("www-authenticate:") }
            .map {
                String(
                    decoding: $0.utf8.drop { $0 != UInt8(ascii: ":") }.dropFirst().drop { $0 == 0x20 },
                    as: UTF8.self
                )
            }
        return HelperSource.isRefusal(Int(words[1]), challenges: challenges)
    }

    fileprivate static func answer(_ arguments: [String], _ session: Session) async throws {
        let address = arguments.last.flatMap { $0.contains("://") ? $0 : nil }
        let call = try HelperCall(.go, address == nil ? arguments : arguments.dropLast())
        guard let address else { return try await answerAtStart(call, session) }
        guard isRefusal(try HelperInput.request(endsAtEmptyLine: false)), let asked = ServedAddress(asked: address),
            let source = try call.source(for: asked, in: session)
        else { return }
        // The token that Go has shown is the one of the cache, which was printed a moment ago.
        let shown = try? await source.token(in: session, fromCacheAlone: true)
        guard let token = try await source.token(in: session, insteadOf: shown?.text) else { return }
        let served = try source.route.variables.words("serves", []).compactMap { ServedAddress($0) }
        let best = served.filter { $0.serves(asked) }.max { $0.depth < $1.depth }
        try session.result(answer(best ?? asked, token: token.text))
    }

    /// Prints the tokens that need no network, so that a command without it starts at once.
    private static func answerAtStart(_ call: HelperCall, _ session: Session) async throws {
        let directory = try ProfileDirectory(session.environment)
        // A profile that cannot be read serves nothing.
        let profiles = try directory.names().compactMap { try? directory.profile(named: $0) }
        let given = try session.environment.above(nil).words("serves", call.own["--serves"].map { [$0] } ?? [])
        let lines = try profiles.flatMap { try Variables([:]).above($0).words("serves", []) } + given
        for address in Set(lines.compactMap { ServedAddress($0) }).sorted(by: { $0.text < $1.text }) {
            // Two profiles may serve it equally, or a sign-in is needed: Go asks again for an address where it is refused.
            guard let source = try? call.source(for: address, in: session),
                let token = try? await source.token(in: session, fromCacheAlone: true)
            else { continue }
            try session.result(answer(address, token: token.text))
        }
    }
}
