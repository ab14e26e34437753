// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

/// An account in an ``AccountStore``: a person, and the type of account they signed in with.
///
/// ```swift
/// for account in try await store.accounts() {
///     print(account.type.rawValue, account.account.displayName ?? account.account.username ?? "")
/// }
/// ```
public struct StoredAccount: Identifiable, Hashable, Sendable {
    /// Identifies an account among all types. Opaque; safe to keep in settings, in its two parts.
    public struct ID: Hashable, Sendable {
        /// The type.
        public let type: AccountType.Name
        /// The account within its provider.
        public let account: Account.ID

        /// Puts an identifier together that was kept.
        public init(type: AccountType.Name, account: Account.ID) {
            self.type = type
            self.account = account
        }
    }

    /// The type of account.
    public let type: AccountType.Name

    /// The person, as the type's application object knows them.
    public let account: Account

    /// Identifies the account in its store.
    public var id: ID { ID(type: type, account: account.id) }

    /// Creates an account; a program's tests do this.
    public init(type: AccountType.Name, account: Account) {
        self.type = type
        self.account = account
    }
}

/// Something changed in an ``AccountStore``.
///
/// ```swift
/// for await change in try await store.changes() {
///     if case .removed = change.kind { closeWindows(of: change.old) }
/// }
/// ```
public struct AccountStoreChange: Sendable {
    /// What happened.
    public enum Kind: Sendable {
        /// Somebody signed in who was not signed in before.
        case added
        /// What is known of an account has changed: its name, its username, a tenant.
        case updated
        /// An account has a new access token.
        case tokenChanged
        /// The program's data of an account has changed.
        case userDataChanged
        /// An account was signed out on this computer.
        case removed
        /// A token could not be had, in this process, for the reason given. The account, if there is one, is as it was.
        case acquisitionFailed(AuthenticationError)
    }

    /// What happened.
    public let kind: Kind

    /// The type of account that it happened to.
    public let type: AccountType.Name

    /// The account as it was before; `nil` when it was added, and for a sign-in that failed and named no account.
    public let old: StoredAccount?

    /// The account as it is now; `nil` when it was removed, and for a sign-in that failed and named no
    /// account.
    public let new: StoredAccount?

    /// Creates a change; a program's tests do this.
    public init(kind: Kind, type: AccountType.Name, old: StoredAccount?, new: StoredAccount?) {
        self.kind = kind
        self.type = type
        self.old = old
        self.new = new
    }
}
