// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Glibc
import OAuthWire

extension Helper {
    static let cargo = Helper(
        name: "cargo",
        link: "cargo-credential-identityctl",
        options: ["--serves"],
        help: "'cargo-credential-identityctl' is for cargo.",
        answer: .words(CargoCredential.answer)
    )
}

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

    /// Answers cargo's requests, until cargo ends them.
    fileprivate static func answer(_ arguments: [String], _ session: Session) async throws {
        guard arguments == ["--cargo-plugin"] else {
            throw UsageError(
                "Cargo calls this program with --cargo-plugin alone. Options stand in cargo's configuration."
            )
        }
        try session.result(hello)
        var lines = HelperInput.Lines()
        while let line = try lines.next() {
            try session.result(try await answer(line, session))
        }
    }

    private static func answer(_ line: [UInt8], _ session: Session) async throws -> String {
        do {
            let asked = try CargoCredential(parsing: line)
            guard asked.wantsToken else { return notServed }
            let call = try HelperCall(.cargo, asked.arguments.filter { $0 != "--bare" })
            guard let source = try call.source(for: asked.address, in: session),
                let token = try await source.token(in: session)
            else { return notServed }
            return answer(
                header: asked.arguments.contains("--bare") ? token.text : "Bearer \(token.text)",
                expiresOn: Int(token.expiresOn.timeIntervalSince1970)
            )
        } catch {
            try Task.checkCancellation()
            let (cause, advice) = await Helper.explanation(of: error, in: session)
            return answer(
                failure: Helper.text(of: cause, advice, joinedBy: "\n")
            )
        }
    }
}

extension IntegratedTool {
    static let cargo = IntegratedTool(name: "cargo") { LinesIntegration.cargo(in: $0) }
}

extension LinesIntegration {
    /// Cargo asks this program first, and then its own store, for each registry without a provider of its own.
    ///
    /// - SeeAlso: [Configuration](https://doc.rust-lang.org/cargo/reference/config.html#registryglobal-credential-providers)
    static func cargo(in home: Home) -> LinesIntegration {
        let directory = home.environment["CARGO_HOME"] ?? "\(home.path)/.cargo"
        // Cargo prefers the older name if both files are there.
        let older = "\(directory)/config"
        let link = HelperLink(.cargo, home)
        let line = #"registry.global-credential-providers = ["cargo:token", "\#(link.name)"]"#
        return LinesIntegration(
            tool: .cargo,
            home: home,
            link: link,
            path: unsafe access(older, F_OK) == 0 ? older : "\(directory)/config.toml",
            lines: { _ in
                (
                    [line],
                    [
                        "A registry in your configuration that names a 'credential-provider' asks that one, and not identityctl.",
                        IntegrationPlan.forAll,
                    ]
                )
            },
            conflicts: { other, _ in hasRegistryTable(other) },
            use: { _ in IntegrationUse(label: "the registries that a profile serves", isForAll: true) }
        )
    }

    /// Whether a line of TOML has to do with the table `registry`, which must not be defined twice.
    static func hasRegistryTable(_ line: String) -> Bool {
        let isHeader = line.drop { $0 == " " || $0 == "\t" }.first == "["
        let rest = line.drop { " \t[\"'".contains($0) }
        guard rest.hasPrefix("registry") else { return false }
        let next = rest.dropFirst("registry".count).drop { " \t\"'".contains($0) }
        if isHeader { return next.first == "." || next.first == "]" }
        // In a table of a source, 'registry' is an address.
        return next.first == "."
            || (next.first == "=" && next.dropFirst().first(where: { $0 != " " && $0 != "\t" }) == "{")
    }
}
