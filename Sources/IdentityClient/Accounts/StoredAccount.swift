// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

/// An account in an ``AccountStore``: a person's account and its type.
///
/// ```swift
/// for account in try await store.accounts() {
///     print(account.type.rawValue, account.account.displayName ?? account.account.username ?? "")
/// }
/// ```
public struct StoredAccount: Identifiable, Hashable, Sendable {
    /// The identifier of an account among all types. It is opaque; its two parts may be kept in settings.
    ///
    /// ```swift
    /// let id = StoredAccount.ID(type: "work", account: Account.ID(rawValue: savedIdentifier))
    /// let account = try await store.accounts().first { $0.id == id }
    /// ```
    public struct ID: Hashable, Sendable {
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
    public enum Kind: Sendable {
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
