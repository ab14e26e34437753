// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import IdentityClient
import Synchronization
import SystemSupport

/// Renews tokens before they end, so that requests are answered from memory.
final class AgentRenewal: Sendable {
    /// A token that was asked for.
    struct Wanted: Sendable {
        let application: PublicClientApplication
        let parameters: SilentParameters
        let profile: AgentProfile
        /// Whether a usual sign-in for the profile gives the token.
        let isUsual: Bool
        let result: AuthenticationResult
    }

    private struct Kept {
        let application: PublicClientApplication
        var parameters: SilentParameters
        /// The profile, if a usual sign-in for it gives the token.
        let profile: AgentProfile?
        let lastAsked: ContinuousClock.Instant
    }

    private struct Key: Hashable {
        let profile: String
        let account: Account.ID
        let scopes: Set<Scope>
    }

    /// How long after the last request a token is kept fresh, and how long before its end it is renewed.
    private static let keepsFresh: (after: Duration, before: Duration) = (.seconds(4 * 3600), .seconds(600))

    private let signIns: AgentSignIns
    private let kept = Mutex<[Key: Kept]>([:])

    init(_ signIns: AgentSignIns) {
        self.signIns = signIns
    }

    /// Remembers a token. Claims are a demand of one request, and no cached token answers them.
    func remember(_ wanted: Wanted) {
        guard wanted.parameters.claims == nil else { return }
        var parameters = wanted.parameters
        parameters.forcesRefresh = false
        parameters.refusedToken = nil
        parameters.usesCacheOnly = false
        parameters.allowsExpiredToken = false
        // The program's own wish, such as a day, may be longer than any token's life.
        parameters.minimumValidity = Self.validity(of: wanted.result, in: wanted.application)
        let new = Kept(
            application: wanted.application,
            parameters: parameters,
            profile: wanted.isUsual ? wanted.profile : nil,
            lastAsked: .now
        )
        let key = Key(profile: wanted.profile.name, account: parameters.account.id, scopes: parameters.scopes)
        kept.withLock { kept in
            // Callers could name ever more combinations.
            if kept.count < 256 || kept[key] != nil { kept[key] = new }
        }
    }

    /// Forgets the tokens of a profile, or all.
    func forget(_ profile: String? = nil) {
        kept.withLock { kept in kept = profile.map { name in kept.filter { $0.key.profile != name } } ?? [:] }
    }

    /// Renews each token that was asked for lately and ends soon. Reminds the person of a sign-in that this needs.
    func renew(isLocked: Bool, at now: ContinuousClock.Instant) async {
        let due = kept.withLock { kept in
            kept = kept.filter { now - $0.value.lastAsked < Self.keepsFresh.after }
            return isLocked ? [:] : kept
        }
        for (key, wanted) in due {
            do {
                let source = ApplicationSource(application: wanted.application)
                let result = try await withDeadline(AgentService.patience) {
                    try await source.token(WantedToken(wanted.parameters)).result
                }
                if result.source != .cache {
                    let validity = Self.validity(of: result, in: wanted.application)
                    kept.withLock { $0[key]?.parameters.minimumValidity = validity }
                }
                if let profile = wanted.profile { signIns.done(for: profile, having: result, in: wanted.application) }
            } catch let error as AuthenticationError where .interactionRequired ~= error.code {
                if let profile = wanted.profile { signIns.needed(for: profile) }
            } catch {
                // The next request tells its failure to the program that asks.
            }
        }
    }

    /// How long before its end a token is renewed. A short one would otherwise be renewed each minute.
    private static func validity(of result: AuthenticationResult, in application: PublicClientApplication) -> Duration {
        let left = Duration.seconds(result.expiresOn.timeIntervalSince(application.configuration.clock.now))
        return min(keepsFresh.before, max(.zero, left / 2))
    }
}
