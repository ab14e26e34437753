// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Glibc

/// pip, set up by `pip config`.
struct PipIntegration: Integration {
    let home: Home

    private static let key = "global.keyring-provider"
    private static let wanted = "subprocess"

    private var name: HelperLink { HelperLink("keyring", home) }
    var link: HelperLink? { name }
    private var pip: String { home.find("pip") == nil && home.find("pip3") != nil ? "pip3" : "pip" }
    private func config(_ words: String...) -> [String] { [pip, "config", "--user"] + words }

    func adding(_ subject: IntegrationSubject) async throws -> IntegrationPlan {
        let value = try await value()
        guard value == nil || value == Self.wanted else {
            throw UsageError(
                "pip's \(Self.key) is '\(value?.printable ?? "")'. If identityctl shall answer, first run: "
                    + Home.line(config("unset", Self.key))
            )
        }
        return IntegrationPlan(
            changes: try name.making() + (value == nil ? [.run(config("set", Self.key, Self.wanted))] : []),
            notes: [KeyringNote.username, IntegrationPlan.forAll] + [name.obstacle].compactMap(\.self)
        )
    }

    func removing(_ subject: IntegrationSubject?) async throws -> IntegrationPlan {
        let isShared = try await !LinesIntegration.uv(in: home).uses().isEmpty
        let isSet = try await isSet()
        // pip leaves its file without content.
        let left = ["\(home.configuration)/pip/pip.conf", "\(home.path)/.pip/pip.conf"]
            .filter { (path: String) in unsafe access(path, F_OK) == 0 }
        return IntegrationPlan(
            changes: (isSet ? [.run(config("unset", Self.key))] + left.map(Change.removeIfEmpty) : [])
                + (isShared ? [] : name.removing())
        )
    }

    func uses() async throws -> [IntegrationUse] {
        // pip is slow to start; without this program as 'keyring' it is not set up.
        guard name.isFound || !name.removing().isEmpty, try await isSet() else { return [] }
        return [IntegrationUse(label: KeyringNote.label, isForAll: true)]
    }

    /// Whether pip asks the program `keyring`.
    func isSet() async throws -> Bool {
        do {
            return try await value() == Self.wanted
        } catch let failure as CommandFailure where failure.isNotFound {
            return false
        }
    }

    /// The value in the person's own configuration; `nil` if there is none.
    private func value() async throws -> String? {
        // The status is 1 if there is no such key.
        let output = try await home.run(config("get", Self.key), accepting: [0, 1])
        let text = String(decoding: output, as: UTF8.self).prefix { !$0.isNewline }
        return text.isEmpty ? nil : String(text)
    }
}
