// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import IdentityClient
import Testing

@testable import identityctl

@Suite struct SharedOptionsTests {
    static func options(_ arguments: String...) throws -> SharedOptions {
        try #require(try Identityctl.parseAsRoot(arguments) as? any ToolCommand).sharedOptions
    }

    @Test func repeatsWhatASignInTakesAsWell() throws {
        let given = try Self.options(
            "token",
            "--client-id",
            "c",
            "--issuer",
            "https://i.test/a",
            "--group",
            "g",
            "--default-scopes",
            "",
            "--token-parameter",
            "audience=x y",
            "--scope",
            "a b",
            "--scope",
            "c",
            "--account",
            "bob",
            "--force-refresh",
            "--json",
            "--log-level",
            "info"
        )
        #expect(
            given.command("login") == "identityctl login --client-id c --issuer https://i.test/a --default-scopes '' "
                + "--group g --token-parameter 'audience=x y' --scope 'a b' --scope c --account bob"
        )
        #expect(try Self.options("token").command("login") == "identityctl login")
        #expect(try Self.options("accounts", "--cache", "file").command("token") == "identityctl token --cache file")
        #expect(try Self.options("logout", "--account", "x").command("token") == "identityctl token --account x")
    }

    @Test(arguments: [
        ("a b", "--group 'a b'"), ("it's", #"--group 'it'\''s'"#), ("$HOME", "--group '$HOME'"), ("é", "--group 'é'"),
        ("a;b|c", "--group 'a;b|c'"), ("~x", "--group '~x'"), ("*", "--group '*'"), ("-x", "--group=-x"),
        ("\u{1B}[2J", "--group '\u{FFFD}[2J'"), ("a@b/c:d,e=f%g+h.i", "--group a@b/c:d,e=f%g+h.i"),
    ])
    func quotesForAShell(value: String, words: String) throws {
        #expect(try Self.options("token", "--group=\(value)").command("x") == "identityctl x \(words)")
    }

    /// A scalar that combines with a quote forms one `Character` with it, but a shell still sees the quote.
    @Test(arguments: ["\u{FE0F}", "\u{301}", "\u{20E3}", "\u{1F3FD}"])
    func givesAShellOneWordWhateverCombinesWithAQuote(_ combining: String) throws {
        let value = "'\(combining);echo broken;'\(combining)"
        let word = try Self.options("token", "--group=\(value)").command("x").utf8.dropFirst(
            "identityctl x --group ".utf8.count
        )
        let shown = try Shell.run("printf %s \(String(decoding: word, as: UTF8.self))")
        #expect(Array(shown.utf8) == Array(value.utf8))
    }

    @Test func quotesTheClaimsOfAnAPIForAShell() throws {
        let claims = "{\"a\":\"'\u{FE0F};echo broken;'\u{FE0F}\"}"
        let error = AuthenticationError(.claimsChallenge, "More is demanded.", claims: claims)
        let advice = try #require(PlainReport.advice(error, SharedOptions()))
        let word = advice.utf8.dropFirst("To sign in, run: identityctl login --claims ".utf8.count)
        #expect(Array(try Shell.run("printf %s \(String(decoding: word, as: UTF8.self))").utf8) == Array(claims.utf8))
    }

    @Test func writesClaimsInOneLine() throws {
        let given = try Self.options("token", "--claims", "{\n  \"a\": 1\n}")
        #expect(given.command("login") == #"identityctl login --claims '{"a":1}'"#)
        #expect(given.replacing("--claims", with: "{ }").command("login") == "identityctl login --claims '{}'")
    }
}
