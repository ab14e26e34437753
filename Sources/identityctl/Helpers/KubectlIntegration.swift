// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import OAuthWire

extension IntegratedTool {
    static let kubectl = IntegratedTool(name: "kubectl", asks: .profile) { KubectlIntegration(home: $0) }
}

/// kubectl, whose kubeconfig gets a user by `kubectl config`.
struct KubectlIntegration: Integration {
    let home: Home

    var link: HelperLink? { nil }

    func adding(_ subject: IntegrationSubject) async throws -> IntegrationPlan {
        guard let profile = subject.profile else { throw UsageError("Which profile? Give --profile NAME.") }
        let settings = try await settings()
        let user = "identityctl-\(profile)"
        let choice = "To use it for a cluster, run: kubectl config set-context CONTEXT --user=\(user)"
        if let program = try settings.program(of: user, with: profile.text), home.obstacle(toStarting: program) == nil {
            return IntegrationPlan(changes: [], notes: [choice])
        }
        let help = try await home.run(["kubectl", "config", "set-credentials", "--help"])
        let options = KubectlSettings.options(
            profile: profile.text,
            program: home.command,
            help: String(decoding: help, as: UTF8.self)
        )
        return IntegrationPlan(
            changes: [.run(["kubectl", "config", "set-credentials", user] + options)],
            notes: [choice]
        )
    }

    func removing(_ subject: IntegrationSubject?) async throws -> IntegrationPlan {
        let settings = try await settings()
        let users = settings.users.filter { subject == nil || $0.profile == subject?.profile?.text }.map(\.name)
        return IntegrationPlan(
            changes: users.map { .run(["kubectl", "config", "delete-user", $0]) },
            notes: settings.contexts(of: users).map {
                "The context '\($0.printable)' names a user that is gone. Give it another one: "
                    + Home.line(["kubectl", "config", "set-context", $0, "--user=USER"])
            }
        )
    }

    func uses() async throws -> [IntegrationUse] {
        try await settings().users.map { user in
            IntegrationUse(
                label: "user \(user.name)",
                profile: user.profile,
                obstacle: home.obstacle(toStarting: user.program)
            )
        }
    }

    private func settings() async throws -> KubectlSettings {
        try KubectlSettings(parsing: try await home.run(["kubectl", "config", "view", "--output=json"]))
    }
}

/// The users of a person's kubeconfig.
///
/// - SeeAlso: [kubeconfig](https://kubernetes.io/docs/reference/config-api/kubeconfig.v1/)
struct KubectlSettings: Sendable {
    /// A user whose credential comes from this program.
    struct User: Hashable, Sendable {
        let name: String
        let program: String
        let profile: String?
    }

    private static let version = "client.authentication.k8s.io/"

    private let entries: [JSONObject]
    private let contexts: [JSONObject]

    /// - Parameter bytes: The output of `kubectl config view`, in JSON.
    /// - Throws: `UsageError` for another output.
    init(parsing bytes: [UInt8]) throws {
        guard let object = try? JSONObject(parsing: bytes, maximumDepth: 100) else {
            throw UsageError("'kubectl config view' printed no JSON object.")
        }
        func objects(_ name: String) -> [JSONObject] {
            (object.array(name) ?? []).compactMap { value -> JSONObject? in
                if case .object(let entry) = value { entry } else { nil }
            }
        }
        entries = objects("users")
        contexts = objects("contexts")
    }

    var users: [User] { entries.compactMap(Self.user) }

    /// Returns the program by which a user gets the tokens of a profile; `nil` if there is no such user yet.
    ///
    /// - Throws: `UsageError` if the user is another one.
    func program(of name: String, with profile: String) throws -> String? {
        guard let entry = entries.first(where: { $0.string("name") == name }) else { return nil }
        guard let user = Self.user(entry), user.profile == profile else {
            throw UsageError(
                "Your kubeconfig has another user '\(name)'. First rename it, or run: kubectl config delete-user \(name)"
            )
        }
        return user.program
    }

    /// Returns the names of the contexts of `users`.
    func contexts(of users: [String]) -> [String] {
        contexts.compactMap { context in
            let user = context.object("context")?.string("user") ?? ""
            return users.contains(user) ? context.string("name") : nil
        }
    }

    /// Returns the options of `kubectl config set-credentials` that its help knows. A kubectl that cannot say whether a
    /// person may be asked takes v1beta1 alone.
    static func options(profile: String, program: String, help: String) -> [String] {
        let isNew = help.contains("--exec-interactive-mode")
        let known = isNew ? ["--exec-interactive-mode=Never"] : []
        let server = help.contains("--exec-provide-cluster-info") ? ["--exec-provide-cluster-info=true"] : []
        let words = ["helper", "kubectl", "--profile", profile].map { "--exec-arg=\($0)" }
        return ["--exec-api-version=\(version)\(isNew ? "v1" : "v1beta1")", "--exec-command=\(program)"] + words + known
            + server
    }

    private static func user(_ entry: JSONObject) -> User? {
        guard let name = entry.string("name"), let exec = entry.object("user")?.object("exec"),
            let program = exec.string("command"), program.split(separator: "/").last == "identityctl",
            let words = exec.strings("args"), words.starts(with: ["helper", "kubectl"])
        else { return nil }
        let index = words.firstIndex(of: "--profile").map { $0 + 1 }
        let profile = index.flatMap { $0 < words.count ? words[$0] : nil }
        return User(name: name, program: program, profile: profile)
    }
}
