// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import DesktopKit
import Foundation
import IdentityClient

/// The accounts that can search, of all configured types, and the last search of each account.
struct SearchAccounts: Sendable {
    /// A provider, and the Graph that accepts its tokens.
    struct Source: Sendable {
        /// The program's name for the source, shown to the person if there are several.
        var name: AccountType.Name
        /// The registration and the token cache.
        var configuration: ClientConfiguration
        /// The root URL of Graph, including its version.
        var graphURL: URL
    }

    /// The program's data for an account.
    private struct Memory: Codable {
        var search: String
    }

    let store: AccountStore
    /// The application object of each type.
    let applications: [PublicClientApplication]
    private let sources: [Source]
    private let scopes: Set<Scope>

    /// Creates the accounts of the given sources.
    ///
    /// - Throws: `AuthenticationError.invalidArgument` if two sources have the same name or the same registration.
    init(_ sources: [Source], scopes: Set<Scope>) throws {
        let types = sources.map { AccountType($0.name, configuration: $0.configuration, scopes: scopes) }
        let store = try AccountStore(types)
        self.store = store
        applications = try store.types.map { try store.application(ofType: $0) }
        self.sources = sources
        self.scopes = scopes
    }

    /// Reports the accounts now, and again after each change to them, in this program or another.
    ///
    /// - Parameter show: Called with the accounts.
    /// - Throws: `AuthenticationError.cache` if a cache cannot be read; `CancellationError`.
    @MainContext
    func follow(_ show: @MainContext (_ accounts: [StoredAccount]) async throws -> Void) async throws {
        let changes = try await store.changes()
        try await show(try await store.accounts())
        for await change in changes {
            switch change.kind {
            case .added, .signedIn, .updated, .removed: try await show(try await store.accounts())
            // These changes do not affect the list.
            case .tokenChanged, .userDataChanged, .acquisitionFailed: continue
            @unknown default: continue
            }
        }
    }

    /// Returns an account's last search, or an empty text if none is kept or can be read.
    func lastSearch(of account: StoredAccount) async -> String {
        // A person can search without the last search.
        let memory = try? await store.userData(Memory.self, of: account)
        return memory?.search ?? ""
    }

    /// Stores an account's search with its tokens, until the account is signed out.
    ///
    /// - Throws: The errors of `AccountStore.setUserData(_:of:)`.
    func keep(_ search: String, of account: StoredAccount) async throws {
        try await store.setUserData(Memory(search: search), of: account)
    }

    /// Returns the Graph of an account's type.
    ///
    /// - Throws: `AuthenticationError.invalidArgument` if the program does not have the type.
    @MainContext
    func directory(for account: StoredAccount) throws -> any Directory {
        let application = try store.application(ofType: account.type)
        guard let source = sources.first(where: { $0.name == account.type }) else {
            throw AuthenticationError(.invalidArgument, "There is no account type '\(account.type)'.")
        }
        return GraphDirectory(application, account: account.account, scopes: scopes, root: source.graphURL)
    }
}
