// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import IdentityClient
import OAuthWire

extension Helper {
    static let kubectl = Helper(
        name: "kubectl",
        options: ["--serves", "--username"],
        flags: ["--access-token"],
        isChosenByItsFile: true,
        help:
            "'helper kubectl', for the exec section of kubeconfig, prints the ID token; with --access-token the access token.",
        answer: .call(ExecCredential.answer)
    )
}

/// The object that kubectl and its exec plug-in exchange.
///
/// - SeeAlso: [Client authentication](https://kubernetes.io/docs/reference/config-api/client-authentication.v1/)
struct ExecCredential: Hashable, Sendable {
    private static let versions = ["client.authentication.k8s.io/v1", "client.authentication.k8s.io/v1beta1"]

    private let version: String
    /// The cluster's address, if kubectl names it. It does so only with `provideClusterInfo`.
    let server: String?

    /// - Parameter text: `KUBERNETES_EXEC_INFO`. If kubectl does not set it, the version is v1.
    /// - Throws: `UsageError` for another object or version.
    init(parsing text: String?) throws {
        guard let text else {
            version = Self.versions[0]
            server = nil
            return
        }
        guard text.utf8.count <= 1 << 20, let object = try? JSONObject(parsing: Array(text.utf8)),
            object.string("kind") == "ExecCredential", let version = object.string("apiVersion"),
            Self.versions.contains(version)
        else {
            throw UsageError(
                "KUBERNETES_EXEC_INFO is no ExecCredential of client.authentication.k8s.io/v1 or v1beta1. "
                    + "Set apiVersion in the exec section of kubeconfig to one of these."
            )
        }
        self.version = version
        if case .object(let spec) = object["spec"], case .object(let cluster) = spec["cluster"] {
            server = cluster.string("server")
        } else {
            server = nil
        }
    }

    /// Returns the answer, in the version that kubectl asked for.
    func answer(token: String, expiresOn: Date) -> String {
        let status = JSONObject([
            ("token", .string(token)), ("expirationTimestamp", .string(expiresOn.utcText)),
        ])
        let answer = JSONObject([
            ("apiVersion", .string(version)), ("kind", .string("ExecCredential")), ("status", .object(status)),
        ])
        return String(decoding: answer.serialized(), as: UTF8.self) + "\n"
    }

    fileprivate static func answer(_ call: HelperCall, _ session: Session) async throws {
        let asked = try ExecCredential(parsing: session.environment["KUBERNETES_EXEC_INFO"])
        guard let source = try call.source(for: asked.server.flatMap(ServedAddress.init(asked:)), in: session),
            let token = try await source.token(in: session, wantsIDToken: call.own["--access-token"] == nil)
        else {
            let cluster = asked.server.map(\.printable)
            throw UsageError(
                "Nothing serves \(cluster ?? "a cluster without an address"). Name a profile in kubeconfig (args: --profile NAME), "
                    + "or add a line to one: serves = \(cluster ?? "https://CLUSTER"). With 'provideClusterInfo: true' kubectl tells "
                    + "the address."
            )
        }
        try session.result(asked.answer(token: token.text, expiresOn: token.expiresOn))
    }
}
