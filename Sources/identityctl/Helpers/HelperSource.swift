// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import IdentityClient
import OAuthWire

/// The tokens that a helper hands out.
struct HelperSource: Sendable {
    let route: TokenRoute
    let command: TokenCommand

    /// The username that goes with the token, if one was chosen.
    var username: String? { route.username }

    /// Whether a server's answer refuses the token itself: 401, or 403 that says so.
    ///
    /// - SeeAlso: [RFC 6750 §3.1](https://www.rfc-editor.org/rfc/rfc6750#section-3.1)
    static func isRefusal(_ status: Int?, challenges: [String]) -> Bool {
        status == 401
            || status == 403 && AuthenticationChallenge.parse(challenges).contains { $0.error == "invalid_token" }
    }

    /// Returns the token for a program that names no address.
    ///
    /// - Throws: `HelperFailure`, and `.cache` if an agent gives no token.
    func anyToken(in session: Session, wantsIDToken: Bool = false) async throws -> HandedToken {
        guard let token = try await token(in: session, wantsIDToken: wantsIDToken) else {
            throw AuthenticationError.agent("unavailable", "The agent's answer has no token.")
        }
        return token
    }

    /// Returns the token, from the cache or renewed; `nil` if the agent serves no such address, or if the account with the
    /// asked name is not signed in and another one is. A person is asked where a line `sign-in` allows it.
    ///
    /// - Parameters:
    ///   - refused: The token that a server refused, in place of which another one is wanted.
    ///   - fromCacheAlone: Whether a token that must be renewed is a failure.
    /// - Throws: `HelperFailure`.
    func token(
        in session: Session,
        wantsIDToken: Bool = false,
        insteadOf refused: String? = nil,
        fromCacheAlone: Bool = false
    ) async throws -> HandedToken? {
        do {
            var wanted = try WantedToken(
                command.token,
                command.account,
                command.silent,
                route.variables,
                minimumValidity: .seconds(60)
            )
            wanted.isIDToken = wantsIDToken
            wanted.refusedToken = refused
            if fromCacheAlone { wanted.usesCacheOnly = true }
            wanted.person = route.person
            let source = try session.source(command.provider, route, for: "helper", asksPassPhrases: false)
            let token = try await session.token(wanted, from: source, under: route.variables, signingInBy: advised)
            if token.report == nil { _ = await session.storageFailure(of: token.result) }
            return try token.checked()
        } catch let other as NoTokenOfPerson {
            report(noTokenOf: other.person, session)
            return nil
        } catch let error as AuthenticationError where error.code == .notServed {
            return nil
        } catch {
            throw HelperFailure(cause: error, options: advised)
        }
    }

    private func report(noTokenOf person: String, _ session: Session) {
        session.console.line(
            "No account '\(person.printable)' is signed in for this address, and no other account's token goes under that name."
        )
        session.console.line("To sign in, run: \(advised.adding("--login-hint", person).command("login"))")
        session.console.line(
            "If only the server knows the name, the profile needs the line: username = \(person.printable)"
        )
    }

    /// The options of the command that signs in.
    private var advised: SharedOptions {
        let options = command.sharedOptions
        guard let profile = route.variables.profile else { return options }
        guard profile.isNamed else {
            return options.replacing("--resource", with: profile.given("resource")?.text ?? "")
        }
        return options.replacing("--profile", with: profile.name.text)
    }
}
