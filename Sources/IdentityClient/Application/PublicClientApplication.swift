// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import OAuthWire
import SystemSupport

/// An application object: signs people in and acquires access tokens for them.
///
/// Create one application object for a client and an authority, and keep it: concurrent calls share requests. Nothing
/// is read, written or sent before the first call.
///
/// ```swift
/// do {
///     result = try await app.acquireTokenSilently(scopes: scopes, account: account)
/// } catch let error as AuthenticationError where error.family == .interactionRequired {
///     result = try await app.acquireTokenInteractively(scopes: scopes)
/// }
/// ```
public final class PublicClientApplication: Sendable {
    /// The settings that the application object was created with.
    public let configuration: ClientConfiguration

    let environment: FlowEnvironment
    let refresher: TokenRefresher
    let gate = InteractionGate()

    /// Creates an application object, without network or file access.
    ///
    /// - Throws: `AuthenticationError.Code.invalidArgument` when the client identifier is empty, longer than 4,096
    ///   bytes, not printable ASCII or has a space at its end, the client secret is longer than 1,024 bytes or has a control
    ///   character, `requestTimeout` is not above 0 and at most 60 s, `expirationLeeway` or `clockTolerance` is negative, a
    ///   broker is set and the authority is not Entra ID's, the authority cannot follow `dpop`, or one of
    ///   `extraTokenParameters` cannot be sent.
    public init(_ configuration: ClientConfiguration) throws {
        try configuration.clientID.check()
        try configuration.clientSecret?.check()
        guard configuration.requestTimeout > .zero, configuration.requestTimeout <= EndpointClient.maximumDeadline,
            configuration.expirationLeeway >= .zero, configuration.compatibility.clockTolerance >= .zero
        else {
            throw AuthenticationError(
                .invalidArgument,
                "The request time-out must be above 0 and at most 60 s, expiration leeway and clock tolerance not negative."
            )
        }
        if configuration.broker.broker != nil, !configuration.authority.hasTenants {
            throw AuthenticationError(
                .invalidArgument,
                "Identity brokers serve Entra ID only. Turn the broker off for this authority."
            )
        }
        try configuration.authority.check(configuration.dpop)
        _ = try ExtraItems.checkedForm(
            configuration.extraTokenParameters,
            reserved: TokenRequestMessage.reservedNames.union(configuration.authority.resourceItems.map(\.0)),
            atMost: 4096
        )
        self.configuration = configuration
        environment = FlowEnvironment(configuration)
        refresher = TokenRefresher(environment)
    }

    /// Waits until all refreshes under way have ended and all unsaved tokens are written, for at most `time`. Call it before the
    /// process ends; the object stays usable.
    ///
    /// A write that fails is tried again until then. Work that has not ended by then continues as long as the process does.
    /// - Returns: Whether all of the work ended in time.
    /// - Throws: `AuthenticationError` of the family `.cache` if tokens could not be written: if they came by a refresh, the
    ///   refresh token in the cache is spent, and the person may have to sign in again. `CancellationError`.
    @discardableResult
    public func finishPendingWork(within time: Duration) async throws -> Bool {
        if refresher.isIdle { return true }  // without a timer, for which a thread would start
        do {
            try await withDeadline(time) { try await self.refresher.finish(writingFor: time) }
            return true
        } catch is DeadlineExceeded {
            if let failure = environment.store.unsavedFailure { throw failure }
            return false
        }
    }

    /// The failure of a write without which the refresh token in the cache is spent, or an error in its place while the
    /// first attempt goes on; `nil` if there is no such write.
    package var unwrittenRefresh: AuthenticationError? { environment.store.unsavedRotationFailure }
}

extension PublicClientApplication {
    /// Returns what the cache holds about the accounts at this provider, without secrets and names, as JSON for a support
    /// case.
    ///
    /// For each account: its identifiers, its tenants, and of each token the scopes, the times and whether it is there.
    /// Only the listed members are written, so that no token, ID token, claim, username or display name is among them,
    /// whatever the cache holds. The identifiers of accounts and tenants are; a provider may use an email address for them.
    ///
    /// - Throws: The errors of ``allAccounts()``.
    public func supportReport() async throws -> String {
        let snapshots = try await environment.store.allSnapshots().snapshots.values.filter {
            environment.clouds.contain(partition: $0.credentials.partition)
        }
        let now = environment.clock.unixSeconds
        let accounts = snapshots.map { $0.supportReport(at: now) }.sorted { $0.sortKey < $1.sortKey }
        let report = JSONObject([
            ("generatedOn", .string(environment.clock.now.utcText)),
            ("authority", .string(configuration.authority.url)),
            ("clientID", .string(configuration.clientID.rawValue)),
            ("cache", .string("\(type(of: configuration.cache))")),
            ("accounts", .array(accounts.map { .object($0) })),
        ])
        return String(decoding: report.serialized(), as: UTF8.self)
    }
}

extension JSONObject {
    /// The identifier and the client, so that the order is the same each time.
    fileprivate var sortKey: String { (string("id") ?? "") + "|" + (string("clientID") ?? "") }
}
