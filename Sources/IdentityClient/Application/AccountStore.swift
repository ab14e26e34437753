// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import Logging
import OAuthWire
import Synchronization

/// The accounts of a program that has several providers, or several registrations with the same provider.
///
/// Each type of account has an application object of its own. The store finds the right application object for an
/// account, keeps the program's own data with the account, and reports all changes in one stream. It stores nothing
/// itself: all data is in the types' caches, and other processes with the same types see the same data.
///
/// If providers do not name themselves in their answers (RFC 9207), give each configuration a redirect URI with a path
/// of its own, `http://localhost/shop` for example, as far as the registrations allow. Each sign-in accepts answers at
/// its own path only, so one provider's answer cannot pass for another's (RFC 9700 §4.4.2). The store logs a warning
/// about such a configuration that has the same path as another provider's: when the store is created, or after the
/// first sign-in that shows whether the provider names itself.
///
/// ```swift
/// let store = try AccountStore([
///     AccountType("work", configuration: work, scopes: ["User.Read"]),
///     AccountType("shop", configuration: shop, scopes: ["orders.read"]),
/// ])
/// let result = try await store.acquireTokenInteractively(ofType: "work")
/// for account in try await store.accounts() { … }
/// ```
public final class AccountStore: Sendable {
    struct Entry: Sendable {
        let type: AccountType
        let application: PublicClientApplication

        /// Whether an account could be of either type, or the name does not tell them apart.
        func isAmbiguous(beside other: Entry) -> Bool {
            let (own, others) = (application.environment, other.application.environment)
            let haveSameAccounts =
                own.clouds.contain(partition: others.partition) || others.clouds.contain(partition: own.partition)
            return type.name == other.type.name
                || own.clientID == others.clientID && own.store.group == others.store.group && haveSameAccounts
        }
    }

    let entries: [Entry]
    let pending = PendingAuthorizations()
    let watches: Watches
    /// The types of which a warning about their redirect path was logged after a sign-in.
    let warned = Mutex<Set<AccountType.Name>>([])

    /// Creates a store, without network or file access.
    ///
    /// - Throws: `AuthenticationError` of the family `.configuration` when a configuration is not acceptable, an extra item or header
    ///   field is reserved for the library, two types have the same name, or two types share client, provider and
    ///   group, so that an account's type would be ambiguous.
    public init(_ types: [AccountType]) throws {
        let watches = Watches()
        self.watches = watches
        entries = try types.map { Entry(type: $0, application: try $0.application(failing: watches)) }
        for (index, entry) in entries.enumerated() {
            guard !entries[..<index].contains(where: entry.isAmbiguous) else {
                throw AuthenticationError(
                    .invalidArgument,
                    "The account type '\(entry.type.name)' has the name, or the client, provider and group, of another."
                )
            }
        }
        warnOfSharedPaths()
    }

    /// The types of account, in the order in which they were given.
    public var types: [AccountType.Name] { entries.map(\.type.name) }

    /// Returns the application object of a type, for features that the store does not have. Its failed acquisitions are
    /// reported in ``changes()`` as well, and its sign-ins have the type's extra items.
    ///
    /// - Throws: `AuthenticationError` of the family `.configuration` when there is no such type.
    public func application(ofType name: AccountType.Name) throws -> PublicClientApplication {
        try entry(name).application
    }

    func entry(_ name: AccountType.Name) throws -> Entry {
        guard let entry = entries.first(where: { $0.type.name == name }) else {
            throw AuthenticationError(.invalidArgument, "There is no account type '\(name.rawValue.prefix(50))'.")
        }
        return entry
    }
}

extension AccountStore {
    /// Returns all accounts of all types, in the order of the types.
    ///
    /// - Throws: `AuthenticationError` of the family `.cache` when a cache cannot be read; `CancellationError`.
    public func accounts() async throws -> [StoredAccount] {
        var accounts: [StoredAccount] = []
        for entry in entries { accounts += try await self.accounts(ofType: entry.type.name) }
        return accounts
    }

    /// Returns the accounts of a type, sorted by username.
    ///
    /// - Throws: The errors of ``accounts()``, and `.configuration` when there is no such type.
    public func accounts(ofType name: AccountType.Name) async throws -> [StoredAccount] {
        try await entry(name).application.allAccounts().map { StoredAccount(type: name, account: $0) }
    }

    /// Returns the account with an identifier, or `nil` if it is not signed in.
    ///
    /// - Throws: The errors of ``accounts(ofType:)``.
    public func account(withID id: StoredAccount.ID) async throws -> StoredAccount? {
        try await entry(id.type).application.account(withID: id.account).map {
            StoredAccount(type: id.type, account: $0)
        }
    }

    /// Signs an account out; see `PublicClientApplication/signOut(_:parameters:)`. Also removes the program's data of
    /// it.
    ///
    /// - Throws: The errors of that method, and `.configuration` when there is no such type.
    @discardableResult
    public func signOut(
        _ account: StoredAccount,
        parameters: SignOutParameters = SignOutParameters()
    ) async throws -> SignOutResult {
        try await entry(account.type).application.signOut(account.account, parameters: parameters)
    }
}

/// A provider that a program's accounts come from, and the settings for sign-ins there.
///
/// ```swift
/// let work = AccountType("work", configuration: entra, scopes: ["User.Read"])
/// let store = try AccountStore([work, AccountType("shop", configuration: shop, scopes: ["orders.read"])])
/// ```
public struct AccountType: Sendable {
    /// The name of a type within a program.
    ///
    /// ```swift
    /// extension AccountType.Name {
    ///     static let work: Self = "work"
    /// }
    /// ```
    public struct Name: RawRepresentable, Hashable, Codable, Sendable, ExpressibleByStringLiteral,
        CustomStringConvertible
    {
        /// The program's own word, for example `work`.
        public let rawValue: String

        /// Wraps a word.
        public init(rawValue: String) { self.rawValue = rawValue }

        /// Wraps a word.
        public init(stringLiteral value: String) { rawValue = value }

        /// The word.
        public var description: String { rawValue }
    }

    /// The program's name for the type.
    public var name: Name

    /// The client identifier, the authority, the cache, and all other settings of an application object.
    public var configuration: ClientConfiguration

    /// The scopes that are requested if a call names none.
    public var scopes: Set<Scope>

    /// Additional items of every authorization request. A name that the library itself uses is refused.
    public var extraQueryItems: [String: String] = [:]

    /// Additional header fields of every request to the provider. Fields that carry credentials, the body's form or the
    /// connection are refused.
    public var extraHeaders: [String: String] = [:]

    /// Creates a type without additional items and header fields.
    public init(_ name: Name, configuration: ClientConfiguration, scopes: Set<Scope>) {
        self.name = name
        self.configuration = configuration
        self.scopes = scopes
    }
}

extension AccountType {
    /// Returns the application object, which sends the additional header fields to the provider only.
    ///
    /// - Throws: `.invalidArgument` for a reserved name, or text that cannot be sent.
    func application(failing watches: AccountStore.Watches) throws -> PublicClientApplication {
        _ = try ExtraItems.checked(extraQueryItems)
        var configuration = configuration
        configuration.extraQueryItems = extraQueryItems
        configuration.failed = { [name] error, account in
            let account = account.map { StoredAccount(type: name, account: $0) }
            watches.post(AccountStoreChange(kind: .acquisitionFailed(error), type: name, old: account, new: account))
        }
        configuration.extraHeaderFields = try headerFields()
        return try PublicClientApplication(configuration)
    }

    private func headerFields() throws -> [HTTPField] {
        try extraHeaders.sorted { $0.key < $1.key }.map { name, value in
            let lowered = name.lowercased()
            guard let field = HTTPField.Name(name), !Self.reservedHeaders.contains(lowered),
                !lowered.hasPrefix("content-"), !lowered.hasPrefix("proxy-"), !lowered.hasPrefix("sec-"),
                value.utf8.count <= 4096, value.utf8.arePrintable
            else {
                throw AuthenticationError(
                    .invalidArgument,
                    "The extra header field '\(name.prefix(50))' is one that the library sets itself, or cannot be sent."
                )
            }
            return HTTPField(name: field, value: value)
        }
    }

    private static let reservedHeaders: Set<String> = [
        "accept", "authorization", "client-request-id", "connection", "cookie", "dpop", "expect", "host", "keep-alive",
        "return-client-request-id", "te", "trailer", "transfer-encoding", "upgrade", "x-client-cpu", "x-client-os",
        "x-client-sku", "x-client-ver", "x-ms-lib-capability",
    ]
}

/// An account in an ``AccountStore``: a person's account and its type.
///
/// ```swift
/// for account in try await store.accounts() {
///     print(account.type.rawValue, account.account.displayName ?? account.account.username ?? "")
/// }
/// ```
public struct StoredAccount: Identifiable, Hashable, Sendable {
    /// The identifier of an account among all types. It is opaque, and may be kept in settings.
    ///
    /// ```swift
    /// let id = try decoder.decode(StoredAccount.ID.self, from: settings.account)
    /// let account = try await store.account(withID: id)
    /// ```
    public struct ID: Hashable, Codable, Sendable {
        /// The type.
        public let type: AccountType.Name
        /// The account within its provider.
        public let account: Account.ID

        /// Creates an identifier from its stored parts.
        public init(type: AccountType.Name, account: Account.ID) {
            self.type = type
            self.account = account
        }
    }

    /// The type of account.
    public let type: AccountType.Name

    /// The account, as the type's application object returns it.
    public let account: Account

    /// The identifier of the account in its store.
    public var id: ID { ID(type: type, account: account.id) }

    /// Creates an account, for a program's tests.
    public init(type: AccountType.Name, account: Account) {
        self.type = type
        self.account = account
    }
}

/// A change in an ``AccountStore``.
///
/// ```swift
/// for await change in try await store.changes() {
///     if case .removed = change.kind { closeWindows(of: change.old) }
/// }
/// ```
public struct AccountStoreChange: Sendable {
    /// The kind of a change.
    ///
    /// ```swift
    /// if case .acquisitionFailed(let error) = change.kind { show(error.message) }
    /// ```
    @nonexhaustive public enum Kind: Sendable {
        /// A person signed in who was not signed in before.
        case added
        /// The account's name, username, tenants or other profile data changed.
        case updated
        /// A person signed in again to an account that was signed in.
        case signedIn
        /// The account has a new access token.
        case tokenChanged
        /// The program's data of the account changed.
        case userDataChanged
        /// An account was signed out on this computer.
        case removed
        /// Acquiring a token failed in this process, for the given reason. The account, if there is one, is unchanged.
        case acquisitionFailed(AuthenticationError)
    }

    /// The kind of the change.
    public let kind: Kind

    /// The type of the changed account.
    public let type: AccountType.Name

    /// The account before the change; `nil` if it was added, and for a failed sign-in that named no account.
    public let old: StoredAccount?

    /// The account after the change; `nil` if it was removed, and for a failed sign-in that named no account.
    public let new: StoredAccount?

    /// Creates a change, for a program's tests.
    public init(kind: Kind, type: AccountType.Name, old: StoredAccount?, new: StoredAccount?) {
        self.kind = kind
        self.type = type
        self.old = old
        self.new = new
    }
}
