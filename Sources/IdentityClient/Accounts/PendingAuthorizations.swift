// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import OAuthWire
import Synchronization

/// Sign-ins that were prepared, and wait for the address that answers them.
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

    /// Takes out the one that `redirect` answers: the same address but for its query, with the `state` that was sent.
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

/// The address that a browser came back to, in its parts.
struct RedirectAddress {
    /// All before the query.
    let base: String
    /// The values of `state`.
    let states: [String]

    init(_ redirect: String) {
        let address = redirect.prefix { $0 != "#" }
        base = Self.normalized(address.prefix { $0 != "?" })
        let query = address.drop { $0 != "?" }.dropFirst()
        let items = (try? FormURLEncoded.decode(String(query))) ?? []  // not readable: no answer
        states = items.filter { $0.0 == "state" }.map(\.1)
    }

    /// Whether it is `redirectURI`, but for what an answer adds to its query.
    func matches(_ redirectURI: String) -> Bool {
        base == Self.normalized(redirectURI.prefix { $0 != "?" && $0 != "#" })
    }

    /// The scheme has no case; of a web address, nor has the host, and an empty path is the root.
    ///
    /// - SeeAlso: [RFC 3986 §6.2.2.1](https://www.rfc-editor.org/rfc/rfc3986#section-6.2.2.1)
    private static func normalized(_ address: Substring) -> String {
        guard let colon = address.firstIndex(of: ":") else { return String(address) }
        let scheme = address[..<colon].lowercased()
        let rest = address[colon...]
        guard scheme == "http" || scheme == "https", rest.hasPrefix("://") else { return scheme + rest }
        let authority = rest.dropFirst(3).prefix { $0 != "/" }
        let path = rest.dropFirst(3 + authority.count)
        return scheme + "://" + authority.lowercased() + (path.isEmpty ? "/" : path)
    }
}
