// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import DesktopKit
import Foundation
import IdentityClient

/// The accounts that can search, of all the types that the program was started with, and the last search of each.
struct SearchAccounts: Sendable {
    /// A provider, and the Graph that takes its tokens.
    struct Source: Sendable {
        /// The program's word for it, which the person reads where there are several.
        var name: AccountType.Name
        /// The registration, and where tokens rest.
        var configuration: PublicClientApplication.Configuration
        /// The root of Graph with its version.
        var graphURL: URL
    }

    /// The program's data of an account.
    private struct Memory: Codable {
        var search: String
    }

    let store: AccountStore
    /// The application object of each type.
    let applications: [PublicClientApplication]
    private let sources: [Source]
    private let scopes: Set<Scope>

    /// - Throws: `AuthenticationError.invalidArgument` when two sources have one name, or one registration.
    init(_ sources: [Source], scopes: Set<Scope>) throws {
        let types = sources.map { AccountType($0.name, configuration: $0.configuration, scopes: scopes) }
        let store = try AccountStore(types)
        self.store = store
        applications = try store.types.map { try store.application(ofType: $0) }
        self.sources = sources
        self.scopes = scopes
    }

    /// Whether accounts have to be told apart by their types.
    var hasSeveralTypes: Bool { store.types.count > 1 }

    /// Shows the accounts now, and again after each change to them, in this program or another.
    ///
    /// - Parameter show: Is given the accounts.
    /// - Throws: `AuthenticationError.cache` when a cache cannot be read; `CancellationError`.
    @MainContext
    func follow(_ show: @MainContext (_ accounts: [StoredAccount]) async throws -> Void) async throws {
        let changes = try await store.changes()
        try await show(try await store.accounts())
        for await change in changes {
            switch change.kind {
            case .added, .updated, .removed: try await show(try await store.accounts())
            // These do not change the list.
            case .tokenChanged, .userDataChanged, .acquisitionFailed: continue
            }
        }
    }

    /// Returns an account's last search, or an empty text if none is kept or can be read.
    func lastSearch(of account: StoredAccount) async -> String {
        // A person can search without it.
        let memory = try? await store.userData(Memory.self, of: account)
        return memory?.search ?? ""
    }

    /// Keeps an account's search with its tokens, until the account is signed out.
    ///
    /// - Throws: As `AccountStore.setUserData(_:of:)`.
    func keep(_ search: String, of account: StoredAccount) async throws {
        try await store.setUserData(Memory(search: search), of: account)
    }

    /// Returns the Graph of an account's type.
    ///
    /// - Throws: `AuthenticationError.invalidArgument` when its type is none of the program's.
    @MainContext
    func directory(for account: StoredAccount) throws -> any Directory {
        let application = try store.application(ofType: account.type)
        guard let source = sources.first(where: { $0.name == account.type }) else {
            throw AuthenticationError(.invalidArgument, "There is no account type '\(account.type)'.")
        }
        return GraphDirectory(application, account: account.account, scopes: scopes, root: source.graphURL)
    }
}
