// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Testing

@testable import identityctl

@Suite struct TokenCommandQuickTests {
    static let everything = [
        "token", "--client-id", "c", "--authority=https://a.test/x?p=q", "--issuer", "https://i.test",
        "--device-authorization-endpoint", "https://i.test/d", "--cache", "memory",
        "--group", "g", "--scope", "a", "--scope=b c", "--claims", #"{"a":1}"#, "--account", "é|x", "--log-level",
        "info",
        "--json", "--force-refresh", "--extended-lifetime", "--token-parameter", "resource=https://a.test",
        "--token-parameter=b=c", "--cache-only", "--allow-expired", "--instance-aware",
        "--id-token", "--min-validity", "60", "--default-scopes=openid x",
        "--client-capabilities", "cp1", "--broker", "auto", "--timeout",
        "9", "--authorization-endpoint", "https://i.test/a", "--token-endpoint", "https://i.test/t",
        "--revocation-endpoint=https://i.test/r", "--id-token-algorithms", "RS256 ES256", "--profile", "work",
    ]

    @Test(arguments: [
        ["token"], everything, ["token", "--json"], ["token", "--force-refresh", "--json"],
        ["token", "--client-id", "first", "--client-id", "second"], ["token", "--scope", "a", "--scope", "b"],
        ["token", "--account=--json"],
    ])
    func meansWhatTheParserMeans(arguments: [String]) throws {
        let quick = try #require(TokenCommand(quickly: arguments))
        let parsed = try #require(try Identityctl.parseAsRoot(arguments) as? TokenCommand)
        #expect(summary(quick) == summary(parsed))
    }

    @Test(arguments: [
        [], ["login"], ["--json", "token"], ["token", "x"], ["token", "--help"], ["token", "-h"],
        ["token", "--client-id"],
        ["token", "--client-id", "--json"], ["token", "--client-id="], ["token", "--client-id", ""],
        ["token", "--json=1"],
        ["token", "--nonsense", "a"], ["token", "--default-scopes", ""], ["token", "--"],
        ["token", "--client-id", "-x"], ["Token"],
    ])
    func leavesTheRestToTheParser(arguments: [String]) {
        #expect(TokenCommand(quickly: arguments).map(summary) == nil)
    }

    /// Every value, so that this test fails when an option is added.
    private func summary(_ command: TokenCommand) -> [String] {
        let provider: [String?] = Setting.ofProvider.map { setting in
            OptionGroups(provider: command.provider).values(of: setting).joined(separator: "\n")
        }
        let others: [String?] = [
            "\(command.silent.cacheOnly)", "\(command.silent.allowExpired)",
            command.token.scopes.joined(separator: "\n"), command.token.claims, command.account.account,
            command.output.logLevel, "\(command.output.json)", "\(command.silent.forceRefresh)",
            command.silent.minValidity, "\(command.silent.idToken)", command.silent.timeout, command.record.record,
            command.scheme.scheme, command.signedRequest.request, command.signedRequest.nonce,
        ]
        return (provider + others).map { $0 ?? "-" }
    }
}
