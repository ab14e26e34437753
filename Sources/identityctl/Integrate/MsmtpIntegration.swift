// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Glibc

/// msmtp, whose file has an account for each server. A person writes the lines there; this program only shows them.
struct MsmtpIntegration: Integration {
    let home: Home

    var link: HelperLink? { nil }

    /// The first file that msmtp looks for.
    private var path: String {
        let own = "\(home.path)/.msmtprc"
        let other = "\(home.configuration)/msmtp/config"
        return unsafe access(own, F_OK) != 0 && access(other, F_OK) == 0 ? other : own
    }

    func adding(_ subject: IntegrationSubject) async throws -> IntegrationPlan {
        let profile = subject.profile?.text ?? ""
        return IntegrationPlan(
            changes: [],
            advice: [
                "Write these lines into the account in \(path.printable); with Google or Microsoft, 'xoauth2' may be needed:",
                "auth oauthbearer", "passwordeval \"identityctl token --profile \(profile)\"",
            ]
        )
    }

    func removing(_ subject: IntegrationSubject?) async throws -> IntegrationPlan {
        let uses = try await uses().filter { subject == nil || $0.profile == subject?.profile?.text }
        return IntegrationPlan(
            changes: [],
            advice: uses.map { "Remove from \(path.printable) what asks for the token, in line: \($0.label)" }
        )
    }

    func uses() async throws -> [IntegrationUse] {
        let text = String(decoding: try ConfigFile(path).bytes ?? [], as: UTF8.self)
        return text.split(whereSeparator: \.isNewline).compactMap { line in
            let words = line.split { $0.isWhitespace || $0 == "\"" }.map(String.init)
            guard words.first == "passwordeval", words.dropFirst(2).first == "token",
                words.dropFirst().first?.split(separator: "/").last == "identityctl"
            else { return nil }
            let index = words.firstIndex(of: "--profile").map { $0 + 1 }
            return IntegrationUse(
                label: words.joined(separator: " "),
                profile: index.flatMap { $0 < words.count ? words[$0] : nil }
            )
        }
    }
}
