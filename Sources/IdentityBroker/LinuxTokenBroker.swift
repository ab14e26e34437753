// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
public import IdentityClient
import OAuthWire
import SystemSupport

/// The identity broker of a Linux computer: Microsoft's (package `microsoft-identity-broker`, which Intune's portal brings)
/// or Himmelblau's, over the session bus.
///
/// ```swift
/// configuration.broker = .whenAvailable(LinuxTokenBroker())
/// ```
///
/// The brokers' interface is not documented by their makers. This type follows what was observed with Microsoft's 2.0.1,
/// 2.5.2 and 3.0.1 and with Himmelblau, and was tested with a stand-in for each of them, never with a real one.
///
/// A call that asks no person ends after 30 seconds. Its errors are `.brokerUnavailable` if no broker could be asked, with
/// the reason, `.serverUnavailable` if the broker does not answer or ends during the call, and the errors that Entra ID's
/// refusals have without a broker.
public struct LinuxTokenBroker: TokenBroker {
    /// The redirect URI that Microsoft's documents name for brokers on Linux. The client's registration needs it, as one of
    /// a mobile or desktop application.
    public static let defaultRedirectURI = "https://login.microsoftonline.com/common/oauth2/nativeclient"

    private let redirectURI: String
    private let settings: BrokerSettings

    /// Creates the broker's client. Nothing is loaded or connected before the first call.
    ///
    /// - Parameter redirectURI: The redirect URI of the program's registration that is for brokers.
    public init(redirectURI: String = LinuxTokenBroker.defaultRedirectURI) {
        self.init(redirectURI: redirectURI, BrokerSettings())
    }

    init(redirectURI: String = LinuxTokenBroker.defaultRedirectURI, _ settings: BrokerSettings) {
        self.redirectURI = redirectURI
        self.settings = settings
    }

    /// Returns tokens of an account that the broker has, without asking the person.
    public func acquireTokenSilently(_ request: BrokerRequest) async throws -> BrokerTokens {
        let client = client(request.clientID)
        return try await bounded(request.correlationID) { link in
            guard let account = try await account(of: request, client, link) else {
                throw AuthenticationError(
                    .noTokensFound,
                    "The identity broker does not have this account. Sign in interactively.",
                    correlationID: request.correlationID
                )
            }
            return try await link.call(
                .silent(request, account, client),
                request.correlationID,
                timeout: settings.patience
            )
            .tokens(isSilent: true, isBound: request.keyID != nil)
        }
    }

    /// Returns tokens, and lets the broker ask the person in its own window. There is no time limit: cancel the task, which
    /// asks the broker to close its window.
    public func acquireTokenInteractively(_ request: BrokerRequest) async throws -> BrokerTokens {
        let client = client(request.clientID)
        let link = try await bounded(request.correlationID) { (link: BrokerLink) in link }
        // Without its own form of the account, the broker asks the person for it.
        let known = try await bounded(request.correlationID, link) { (link) -> BrokerAccount? in
            try? await account(of: request, client, link)
        }
        var tokens = try await whileCancellable(request, client, link) {
            try await link.call(
                .interactive(request, known, client),
                request.correlationID,
                timeout: .seconds(1_000_000)  // until the person or the program ends it
            )
            .tokens(isSilent: false, isBound: request.keyID != nil)
        }
        if tokens.homeAccountID == nil {
            let idToken = tokens.idToken
            tokens.homeAccountID = try await bounded(request.correlationID, link) { (link) -> String? in
                // A broker that does not list accounts leaves it to the ID token.
                let accounts = try? await accounts(client, request.correlationID, link)
                return accounts.flatMap { Self.homeAccountID(of: idToken, among: $0) }
            }
        }
        return tokens
    }

    /// Returns the broker's accounts. Starts the broker if it is not running.
    public func accounts(for clientID: ClientID) async throws -> [Account] {
        let (client, id) = (client(clientID), UUID())
        return try await bounded(id) { link in try await accounts(client, id, link).map(\.account) }
    }

    /// Removes an account for this program. Himmelblau cannot do it: `.unsupported`.
    public func remove(_ account: Account, for clientID: ClientID) async throws {
        let (client, id) = (client(clientID), UUID())
        try await bounded(id) { link in
            let accounts = try await accounts(client, id, link)
            guard let known = accounts.first(where: { $0.homeAccountID == account.homeAccountID.lowercased() }) else {
                return
            }
            try await link.call(.removal(of: known, client), id, timeout: settings.patience)
                .checkIsNoError(isSilent: true)
        }
    }

    /// Returns the version that the broker tells, and the name under which its program logs, which only Himmelblau tells.
    ///
    /// Brokers do not tell over this interface whether the computer is registered, compliant or shared.
    public func information() async throws -> BrokerInformation {
        let id = UUID()
        return try await bounded(id) { link in
            let version = try await link.call(.version, id, timeout: settings.patience).version()
            // Microsoft's brokers have no such object.
            let product = try? await link.product(timeout: .seconds(5))
            return BrokerInformation(product: product.map { String(WireText.clean($0).prefix(100)) }, version: version)
        }
    }
}

extension LinuxTokenBroker {
    private func client(_ clientID: ClientID) -> BrokerClient {
        BrokerClient(clientID: clientID.rawValue, redirectURI: redirectURI)
    }

    private func accounts(_ client: BrokerClient, _ id: UUID, _ link: BrokerLink) async throws -> [BrokerAccount] {
        try await link.call(.accounts(client), id, timeout: settings.patience).accounts()
    }

    /// The account of a request as the broker wants it.
    private func account(
        of request: BrokerRequest,
        _ client: BrokerClient,
        _ link: BrokerLink
    ) async throws -> BrokerAccount? {
        guard let wanted = request.account?.homeAccountID.lowercased() else { return nil }
        return try await accounts(client, request.correlationID, link).first { $0.homeAccountID == wanted }
    }

    /// The account that an ID token is about. The token is verified later.
    private static func homeAccountID(of idToken: String?, among accounts: [BrokerAccount]) -> String? {
        guard let claims = idToken.flatMap({ try? JSONWebToken(compact: $0) })?.claims,
            let person = claims.string("oid")?.lowercased(), let tenant = claims.string("tid")?.lowercased()
        else { return nil }
        return accounts.first { $0.localAccountID == person && $0.realm == tenant }?.homeAccountID
    }

    /// Does `work` within the time for operations that ask no person, and translates its failures.
    private func bounded<Value: Sendable>(
        _ correlationID: UUID,
        _ link: BrokerLink? = nil,
        _ work: @escaping @Sendable (BrokerLink) async throws -> Value
    ) async throws -> Value {
        let settings = settings
        do {
            return try await withDeadline(settings.patience) {
                let link = if let link { link } else { try await BrokerLink.open(settings) }
                return try await work(link)
            }
        } catch {
            throw AuthenticationError.fromBroker(error, correlationID)
        }
    }

    /// Waits for a person. If the task is cancelled, the broker closes its window.
    private func whileCancellable(
        _ request: BrokerRequest,
        _ client: BrokerClient,
        _ link: BrokerLink,
        _ work: () async throws -> BrokerTokens
    ) async throws -> BrokerTokens {
        do {
            return try await work()
        } catch is CancellationError {
            let id = request.correlationID.uuidString.lowercased()
            let message = BrokerMessage.cancellation(client, correlationID: id)
            // The caller does not wait for it, and some brokers cannot do it.
            Task { _ = try? await link.call(message, request.correlationID, timeout: .seconds(5)) }
            throw CancellationError()
        } catch {
            throw AuthenticationError.fromBroker(error, request.correlationID)
        }
    }
}
