// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Synchronization

/// The prepared sign-ins that wait for the address that answers them.
final class PendingAuthorizations: Sendable {
    private struct Pending {
        let request: AuthorizationRequest
        let type: AccountType.Name
        let end: ContinuousClock.Instant
    }

    private let pending = Mutex<[Pending]>([])
    private static let most = 16

    func add(_ request: AuthorizationRequest, ofType type: AccountType.Name, at now: ContinuousClock.Instant) {
        let new = Pending(request: request, type: type, end: now + request.parameters.timeout)
        pending.withLock { pending in
            pending = (pending.filter { $0.end > now } + [new]).suffix(Self.most)
        }
    }

    /// Removes and returns the sign-in that `redirect` answers: it has the same address except for the query, and the
    /// `state` that was sent.
    func take(
        answeredBy redirect: String,
        at now: ContinuousClock.Instant
    ) -> (AuthorizationRequest, AccountType.Name)? {
        let address = RedirectAddress(redirect)
        return pending.withLock { pending in
            pending.removeAll { $0.end <= now }
            guard
                let index = pending.firstIndex(where: { pending in
                    address.matches(pending.request.redirectURI) && pending.request.isAnswered(byStates: address.states)
                })
            else { return nil }
            let found = pending.remove(at: index)
            return (found.request, found.type)
        }
    }
}
