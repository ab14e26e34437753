// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Logging
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
    let watches = Mutex<[WeakWatch]>([])
    /// The types of which a warning about their redirect path was logged after a sign-in.
    let warned = Mutex<Set<AccountType.Name>>([])

    /// Creates a store, without network or file access.
    ///
    /// - Throws: `AuthenticationError.configuration` when a configuration is not acceptable, an extra item or header
    ///   field is reserved for the library, two types have the same name, or two types share client, provider and
    ///   group, so that an account's type would be ambiguous.
    public init(_ types: [AccountType]) throws {
        entries = try types.map { Entry(type: $0, application: try $0.application()) }
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

    /// Returns the application object of a type, for features that the store does not have.
    ///
    /// - Throws: `AuthenticationError.configuration` when there is no such type.
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
    /// - Throws: `AuthenticationError.cache` when a cache cannot be read; `CancellationError`.
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
