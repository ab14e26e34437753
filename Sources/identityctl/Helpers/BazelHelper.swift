// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import IdentityClient
import OAuthWire

extension Helper {
    static let bazel = Helper(
        name: "bazel",
        link: "bazel-credential-identityctl",
        hasOperation: true,
        options: ["--serves"],
        help: "'helper bazel get' is for Bazel and other build programs.",
        answer: .call(BazelCredential.answer)
    )
}

/// The messages of the credential helpers that Bazel and other build programs call.
///
/// - SeeAlso: [Credential helpers](https://github.com/EngFlow/credential-helper-spec/blob/main/spec.md)
enum BazelCredential {
    /// Returns the address of the request.
    ///
    /// - Throws: `UsageError` for another message. Members that this program does not know are passed over.
    static func address(parsing bytes: [UInt8]) throws -> ServedAddress? {
        guard let uri = (try? JSONObject(parsing: bytes))?.string("uri") else {
            throw UsageError("The request is no JSON object with \"uri\".")
        }
        // Remote execution names its servers so. The connection is the same.
        return ServedAddress(asked: uri.hasPrefix("grpcs://") ? "https" + uri.dropFirst(5) : uri)
    }

    static func answer(token: String, expiresOn: Date) -> String {
        let headers = JSONObject([("Authorization", .array([.string("Bearer \(token)")]))])
        let answer = JSONObject([("headers", .object(headers)), ("expires", .string(expiresOn.utcText))])
        return String(decoding: answer.serialized(), as: UTF8.self) + "\n"
    }

    fileprivate static func answer(_ call: HelperCall, _ session: Session) async throws {
        guard call.operation == "get" else { throw UsageError("A credential helper knows only 'get'.") }
        let address = try Self.address(parsing: try HelperInput.request(endsAtEmptyLine: false))
        guard let source = try call.source(for: address, in: session), let token = try await source.token(in: session)
        else {
            throw UsageError("Nothing serves this address. A 'serves' line of a profile, or --serves, names it.")
        }
        try session.result(answer(token: token.text, expiresOn: token.expiresOn))
    }
}

extension IntegratedTool {
    static let bazel = IntegratedTool(name: "bazel") { LinesIntegration.bazel(in: $0) }
}

extension LinesIntegration {
    /// - SeeAlso: [Bazel](https://bazel.build/reference/command-line-reference), `--credential_helper`
    static func bazel(in home: Home) -> LinesIntegration {
        let link = HelperLink(.bazel, home)
        let option = "common --credential_helper="
        return LinesIntegration(
            tool: .bazel,
            home: home,
            link: link,
            path: "\(home.path)/.bazelrc",
            lines: { subject in
                let hosts = subject.addresses.compactMap(bazelHost)
                let left = subject.addresses.filter { bazelHost($0) == nil }
                guard !hosts.isEmpty else {
                    throw UsageError("Bazel asks for hosts such as build.example.com, and the profile serves none.")
                }
                return (
                    hosts.map { "\(option)\($0)=\(link.name)" },
                    left.map { "Bazel asks for whole hosts with a period in their name, so not for \($0.text)." }
                )
            },
            conflicts: { other, own in
                own.hasPrefix(option)
                    && other.contains("--credential_helper=\(own.dropFirst(option.count).prefix { $0 != "=" })=")
            },
            // Bazel ends a helper after 10 s, also one that is about to store a new refresh token.
            common: ["common --credential_helper_timeout=40s"],
            use: { line in
                guard line.hasPrefix(option) else { return nil }
                let host = line.dropFirst(option.count).prefix { $0 != "=" }
                return IntegrationUse(label: "https://\(host)", isForAll: true)
            }
        )
    }

    /// The host as Bazel's option takes it; `nil` if Bazel never asks for the address alone, or refuses to start with such a
    /// name.
    private static func bazelHost(_ address: ServedAddress) -> Substring? {
        guard address.depth == 0, address.text.hasPrefix("https://") else { return nil }
        let host = address.text.dropFirst("https://".count).prefix { $0 != ":" }
        let labels = host.split(separator: ".", omittingEmptySubsequences: false)
        return labels.count > 1 && labels.allSatisfy { !$0.isEmpty && $0.utf8.areAlphanumeric(or: "-") } ? host : nil
    }
}
