// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import OAuthWire

/// The change that one or several consecutive refreshes make to a record, from the first refresh token sent to the last
/// answer.
///
/// It stays small, however many refreshes follow each other while nothing can be written.
struct RefreshChange: Sendable {
    /// The verified content of an answer.
    enum Answer: Sendable {
        case grant(TokenGrant)
        /// The new refresh token only.
        case refreshToken(String)
    }

    fileprivate struct Step: Sendable {
        var answer: Answer
        var at: Int64
    }

    private let incarnation: String
    /// The redeemed refresh tokens: a record with one of them has a spent refresh token. The first is kept, and of the
    /// others the latest, which may be stored.
    private var sent: [String]
    private var steps: [Step]

    private static let mostSent = 16

    /// Creates the change of one refresh.
    ///
    /// - Parameters:
    ///   - base: The stored credentials when `sent` was read.
    ///   - sent: The refresh token that was redeemed.
    init(_ answer: Answer, to sent: CachedRefreshToken, of base: AccountCredentials, at now: Int64) {
        incarnation = base.incarnation
        self.sent = [sent.secret]
        steps = [Step(answer: answer, at: now)]
    }

    /// Returns the result of writing this change over `current`: `current` itself if it is `nil` or of another sign-in.
    func applied(to current: AccountCredentials?) -> AccountCredentials? {
        guard let current else { return nil }
        let isSpent = current.refreshToken.map { sent.contains($0.secret) } ?? false
        guard current.incarnation == incarnation || isSpent else { return current }
        return steps.reduce(current) { $1.applied(to: $0, replacesRefreshToken: isSpent) }
    }

    /// Returns both changes as one, or `nil` if the later change is of another sign-in.
    ///
    /// - Parameter stored: The refresh token that was found in the record, if it could be read.
    func followed(by later: RefreshChange, stored: String? = nil) -> RefreshChange? {
        guard later.incarnation == incarnation else { return nil }
        var result = self
        for secret in [stored].compactMap(\.self).filter(sent.contains) + later.sent {
            if let index = result.sent.dropFirst().firstIndex(of: secret) { result.sent.remove(at: index) }
            if result.sent[0] != secret { result.sent.append(secret) }
        }
        if result.sent.count > Self.mostSent { result.sent.removeSubrange(1...(result.sent.count - Self.mostSent)) }
        for step in later.steps { result.add(step) }
        return result
    }

    /// Adds a step, and drops the steps that it makes useless.
    private mutating func add(_ step: Step) {
        var step = step
        for index in steps.indices.reversed() {
            guard let merged = steps[index].superseded(by: step) else { continue }
            steps.remove(at: index)
            step = merged
        }
        steps.append(step)
    }
}

extension RefreshChange.Step {
    fileprivate func applied(
        to credentials: AccountCredentials,
        replacesRefreshToken: Bool
    ) -> AccountCredentials {
        switch answer {
        case .grant(var grant):
            if !replacesRefreshToken { grant.response.refreshToken = nil }
            var result = credentials.applying(grant, at: at)
            // The provider has accepted the token, so its earlier refusals no longer apply.
            if replacesRefreshToken { result.refreshToken?.refusals = [] }
            return result
        case .refreshToken(let secret):
            guard replacesRefreshToken, let token = credentials.refreshToken else { return credentials }
            return credentials.replacing(token, with: secret, at: at)
        }
    }

    /// Returns `later`, completed with this step's values, if nothing else of this step remains; `nil` if this step
    /// must stay.
    fileprivate func superseded(by later: RefreshChange.Step) -> RefreshChange.Step? {
        switch (answer, later.answer) {
        case (.refreshToken, .refreshToken): return later
        case (.refreshToken, .grant(let new)): return new.response.refreshToken == nil ? nil : later
        case (.grant, .refreshToken): return nil
        case (.grant(let old), .grant(var new)):
            let isSame =
                old.realm == new.realm && old.authorityTenant == new.authorityTenant
                && old.requestedScopes == new.requestedScopes && old.grantedScopes == new.grantedScopes
            guard isSame, old.response.refreshToken == nil || new.response.refreshToken != nil else { return nil }
            new.profile = new.profile ?? old.profile
            new.response.familyID = new.response.familyID ?? old.response.familyID
            return RefreshChange.Step(answer: .grant(new), at: later.at)
        }
    }
}
