// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Logging
import OAuthWire
import Synchronization

/// The refresh token of an answer, stored by itself as soon as anything has to be waited for before the answer is believed.
///
/// The server has spent the one that was sent: until the new one is stored, a death of the process loses the sign-in.
final class RotatedToken: Sendable {
    private let attempt: RefreshAttempt
    /// `nil` where the answer brings none, or says that it is about somebody else.
    private let secret: String?
    private let stored = Mutex<CachedRefreshToken?>(nil)

    init(_ response: TokenResponse, to attempt: RefreshAttempt) {
        self.attempt = attempt
        let validation = GrantValidation(environment: attempt.environment, context: attempt.context)
        secret = response.refreshToken.flatMap { secret in
            secret != attempt.sent.secret
                && validation.isAboutThePerson(response, attempt.request, attempt.snapshot) ? secret : nil
        }
    }

    /// The refresh token that is stored: the new one, or the one that was sent.
    var current: CachedRefreshToken { stored.withLock { $0 } ?? attempt.sent }

    /// Stores the new refresh token, unless that is done.
    func keep() async {
        guard let secret, stored.withLock({ $0 }) == nil else { return }
        let (now, sent) = (attempt.environment.clock.unixSeconds, attempt.sent)
        let base = attempt.snapshot.credentials
        do {
            _ = try await attempt.environment.store.commit(
                attempt.request.id,
                fallback: base.replacing(sent, with: secret, at: now),
                RefreshChange(.refreshToken(secret), to: sent, of: base, at: now)
            )
        } catch {
            // It is stored with the rest of the answer, or where that fails, too, with the next try.
            attempt.context.logger.debug("A new refresh token could not be stored by itself")
            return
        }
        var token = sent
        token.secret = secret
        token.modifiedAt = now
        stored.withLock { $0 = token }
    }
}
