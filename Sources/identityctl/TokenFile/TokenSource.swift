// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import IdentityClient
import OAuthWire
import SystemSupport

/// A token with its end, and the account that it is for.
struct SourcedToken: Hashable, Sendable {
    let text: String
    let expiresOn: Date
    /// The account's id; `nil` if an agent does not say.
    var account: String?

    /// The rest of the token's life.
    func left(at now: Date) -> Duration { .seconds(expiresOn.timeIntervalSince(now)) }
}

/// The source of the token that a command's options describe: the agent if there is one, otherwise the cache and the
/// provider.
struct TokenSource: Sendable {
    /// The changes to the options for a renewal.
    struct Renewal: Hashable, Sendable {
        var minimumValidity: Duration
        var forcesRefresh = false
        var account: String?
    }

    /// The wanted validity in the options.
    let minimumValidity: Duration
    private let console: Console
    private let hasAgent: Bool
    private let acquire: @Sendable (Renewal?) async throws -> SourcedToken

    /// - Throws: `UsageError`.
    init(
        _ provider: ProviderOptions,
        _ token: TokenOptions,
        _ account: AccountOption,
        _ silent: SilentOptions,
        for command: String,
        in session: Session
    ) throws {
        let environment = session.environment
        console = session.console
        let asked = try WantedToken(token, account, silent, environment)
        minimumValidity = asked.minimumValidity
        let socket = environment.agent
        hasAgent = socket != nil
        if let socket {
            let first = try AgentRequest.Token(provider, asked, environment, for: command, socket)
            acquire = { renewal in
                var request = first
                if let renewal {
                    request.minimumValidity = Int(renewal.minimumValidity.wholeSeconds)
                    request.forcesRefresh = renewal.forcesRefresh
                    request.user = renewal.account ?? request.user
                }
                let answer = try await AgentClient(socket: socket).ask(.token(request), within: asked.timeout)
                return try request.token(in: answer)
            }
            return
        }
        let application = try session.application(
            try provider.configuration(environment, passPhrases: session.passPhrases, logger: session.logger)
        )
        acquire = { renewal in
            var wanted = asked
            if let renewal {
                wanted.minimumValidity = renewal.minimumValidity
                wanted.forcesRefresh = renewal.forcesRefresh
                wanted.account = renewal.account.map { Given(text: $0, origin: "--account") } ?? wanted.account
            }
            let token = try await wanted.acquire(from: application, in: session)
            // Only a renewal is followed by others, which try to store the tokens again.
            if renewal == nil { _ = await session.isStored(token.result) }
            session.warn(ofClaimsMissingIn: token.result, wanting: wanted.scopes)
            return SourcedToken(
                text: token.text,
                expiresOn: token.expiresOn,
                account: token.result.account.id.rawValue
            )
        }
    }

    /// Keeps other programs from the memory of this process, in which refresh tokens stay. With an agent there are none, and
    /// the agent sees which program asks.
    func hideMemory() {
        if !hasAgent { _ = SystemCall.hideMemory() }
    }

    /// Returns the token that the options describe, and warns if it is good for a shorter time than wanted.
    ///
    /// - Throws: Also `UsageError` for a token with other characters than a variable, a file or a header may hold.
    func token() async throws -> SourcedToken {
        let token = try await acquire(nil)
        console.warn(ofShortLife: token.left(at: .now), below: minimumValidity)
        return try Self.checked(token)
    }

    /// Returns a token for one that ends.
    ///
    /// - Throws: Likewise.
    func renewed(_ renewal: Renewal) async throws -> SourcedToken {
        try Self.checked(try await acquire(renewal))
    }

    private static func checked(_ token: SourcedToken) throws -> SourcedToken {
        try token.text.checkAsToken()
        return token
    }
}

extension AgentRequest.Token {
    /// Returns the token in an agent's answer: the ID token if that was wanted.
    func token(in answer: JSONObject) throws -> SourcedToken {
        guard let token = answer.string("access_token"), let end = answer.integer("expires_at"),
            let wanted = wantsIDToken ? answer.string("id_token") : token
        else { throw AuthenticationError.agent("unavailable", "The agent's answer has no token.") }
        // To the year 9999, because the agent may be another computer's.
        let wantedEnd = min(max(0, wantsIDToken ? answer.integer("id_token_expires_at") ?? end : end), 253_402_300_799)
        return SourcedToken(
            text: wanted,
            expiresOn: Date(timeIntervalSince1970: Double(wantedEnd)),
            account: answer.object("report")?.object("account")?.string("id")
        )
    }
}

extension Console {
    /// Warns of a token that is good for a shorter time than wanted.
    func warn(ofShortLife left: Duration, below wanted: Duration) {
        guard left > .zero else {
            return line("Warning: the token expired \(-left.components.seconds) s ago. An API may refuse it.")
        }
        guard left < wanted else { return }
        line("Warning: the token is good for \(left.components.seconds) s only. No longer one could be had.")
    }
}
