// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

public import FoundationEssentials
import Logging
import Synchronization

// What a type's scopes and the store's memory of prepared sign-ins add to; all else is a call of the type's application object.
extension AccountStore {
    /// Signs a person in with a type of account; see `PublicClientApplication/acquireTokenInteractively(_:)`.
    ///
    /// - Parameters:
    ///   - name: The type of account.
    ///   - change: Changes the parameters of the sign-in. By default, they are the type's scopes.
    /// - Throws: The errors of that method, and `.configuration` when there is no such type.
    @discardableResult
    public func acquireTokenInteractively(
        ofType name: AccountType.Name,
        _ change: (inout InteractiveParameters) -> Void = { _ in }
    ) async throws -> AuthenticationResult {
        let entry = try entry(name)
        let result = try await entry.application.acquireTokenInteractively(entry.type.parameters(change))
        await warnOfSharedPath(afterSignInWith: entry)
        return result
    }

    /// Acquires an access token for an account without asking the person; see
    /// `PublicClientApplication/acquireTokenSilently(_:)`.
    ///
    /// - Parameters:
    ///   - account: The account of the token.
    ///   - scopes: The scopes that the token must have; `nil` means the type's scopes.
    ///   - change: Changes the other parameters of the request.
    /// - Throws: The errors of that method, and `.configuration` when there is no such type.
    public func acquireTokenSilently(
        for account: StoredAccount,
        scopes: Set<Scope>? = nil,
        _ change: (inout SilentParameters) -> Void = { _ in }
    ) async throws -> AuthenticationResult {
        let entry = try entry(account.type)
        var parameters = SilentParameters(scopes: scopes ?? entry.type.scopes, account: account.account)
        change(&parameters)
        return try await entry.application.acquireTokenSilently(parameters)
    }

    /// Prepares a sign-in for a program that shows the page itself; see
    /// `PublicClientApplication/prepareAuthorization(_:)`.
    ///
    /// The store remembers the sign-in until its time-out, so that ``handleRedirect(_:)`` finds it again. It remembers
    /// at most 16 sign-ins and drops the oldest first.
    /// - Throws: The errors of that method, and `.configuration` when there is no such type.
    public func prepareAuthorization(
        ofType name: AccountType.Name,
        _ change: (inout InteractiveParameters) -> Void = { _ in }
    ) async throws -> AuthorizationRequest {
        let entry = try entry(name)
        let request = try await entry.application.prepareAuthorization(entry.type.parameters(change))
        pending.add(request, ofType: name, at: .now)
        return request
    }

    /// Restores a prepared sign-in after a restart, so that ``handleRedirect(_:)`` finds it; see
    /// `PublicClientApplication/restoreAuthorization(_:authority:)`.
    ///
    /// - Parameters:
    ///   - data: The result of ``AuthorizationRequest/serialized()``.
    ///   - name: The type of account for which it was prepared.
    ///   - authority: The authority that the prepared request named, if it named one.
    /// - Throws: The errors of that method, and `.configuration` when there is no such type.
    @discardableResult
    public func restoreAuthorization(
        _ data: [UInt8],
        ofType name: AccountType.Name,
        authority: Authority? = nil
    ) async throws -> AuthorizationRequest {
        let request = try await entry(name).application.restoreAuthorization(data, authority: authority)
        pending.add(request, ofType: name, at: .now)
        return request
    }

    /// Completes the sign-in that an address answers, whatever its type of account.
    ///
    /// Pass it every address that the program is opened with, or that its web view is sent to. An address belongs only
    /// to the sign-in with the same redirect address and `state`; an address that belongs to no sign-in ends none.
    ///
    /// - Returns: The result, or `nil` if no sign-in waits for this address.
    /// - Throws: The errors of `PublicClientApplication/completeAuthorization(_:with:)`.
    public func handleRedirect(_ url: URL) async throws -> AuthenticationResult? {
        guard let (request, name) = pending.take(answeredBy: url.absoluteString, at: .now) else { return nil }
        let entry = try entry(name)
        let result = try await entry.application.completeAuthorization(request, with: url)
        await warnOfSharedPath(afterSignInWith: entry)
        return result
    }
}

extension AccountType {
    fileprivate func parameters(_ change: (inout InteractiveParameters) -> Void) -> InteractiveParameters {
        var parameters = InteractiveParameters(scopes: scopes)
        change(&parameters)
        return parameters
    }
}

// The warning about two providers, one of which could have the other's answer accepted as its own.
extension AccountStore {
    /// Logs a warning about each type whose provider does not name itself, and which has the same redirect path as a
    /// type of another provider.
    ///
    /// - SeeAlso: [RFC 9700 §4.4](https://www.rfc-editor.org/rfc/rfc9700#section-4.4)
    func warnOfSharedPaths() {
        for entry in entries where !entry.type.configuration.authority.mayNameItself { warnOfSharedPath(of: entry) }
    }

    /// Does the same once after a sign-in, if the provider's metadata does not announce that it names itself.
    func warnOfSharedPath(afterSignInWith entry: Entry) async {
        let environment = entry.application.environment
        let authority = environment.configuration.authority
        guard authority.mayNameItself, otherType(withPathOf: entry) != nil,
            !warned.withLock({ $0.contains(entry.type.name) }),
            // The sign-in has just read the metadata. Without it, there is nothing to tell.
            let metadata = try? await environment.resolver.metadata(for: authority, context: environment.context(nil)),
            !metadata.namesIssuerInResponse, warned.withLock({ $0.insert(entry.type.name).inserted })
        else { return }
        warnOfSharedPath(of: entry)
    }

    private func warnOfSharedPath(of entry: Entry) {
        guard let other = otherType(withPathOf: entry) else { return }
        (entry.type.configuration.logger ?? Logger.current).warning(
            """
            The provider of the account type '\(entry.type.name)' does not announce that it names itself in its answers, \
            and the type '\(other.name)', of another provider, has the same redirect path. That provider could have \
            this provider's answer accepted as its own. Give each type a path of its own (redirectURI), as far as the \
            registrations allow.
            """
        )
    }

    /// The first type of another provider that has the same redirect path.
    private func otherType(withPathOf entry: Entry) -> AccountType? {
        let configuration = entry.type.configuration
        return entries.map(\.type).first { type in
            type.configuration.redirectURI.path == configuration.redirectURI.path
                && type.configuration.authority.accountScope != configuration.authority.accountScope
        }
    }
}

extension Authority {
    /// Whether answers through the browser may name the provider (RFC 9207). Microsoft's never do; whether others do is
    /// unknown before the first request.
    fileprivate var mayNameItself: Bool {
        switch kind {
        case .entra, .b2c, .externalID, .adfs: false
        case .openIDConnect, .authorizationServer: true
        case .oauth2(let endpoints): endpoints.issuer != nil
        }
    }
}

extension RedirectURI {
    /// The part of a redirect address that providers compare. Few compare the port of a loopback address.
    fileprivate var path: String {
        switch kind {
        case .loopback(_, _, let path): path.isEmpty ? "/" : path
        case .custom(let url): url.absoluteString
        }
    }
}

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
                    address.matches(pending.request.redirectURI.absoluteString)
                        && pending.request.isAnswered(byStates: address.states)
                })
            else { return nil }
            let found = pending.remove(at: index)
            return (found.request, found.type)
        }
    }
}
