// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import DesktopKit
import Foundation
import IdentityClient
import IdentityResources

/// A directory in which people are looked up.
@MainContext
protocol Directory: Sendable {
    /// Prepares a search for people. Sends no request yet.
    func people(_ query: UserQuery) throws -> any PeoplePages
}

/// The pages of found people.
@MainContext
protocol PeoplePages: Sendable {
    /// Returns the next page; `nil` after the last page. After an error, the next call requests the same page again.
    func next() async throws -> [Person]?
}

/// Microsoft Graph, for one account.
final class GraphDirectory: Directory {
    private let client: AuthenticatedClient
    let root: URL

    init(_ application: PublicClientApplication, account: Account, scopes: Set<Scope>, root: URL) {
        client = AuthenticatedClient(application: application, account: account, scopes: scopes)
        self.root = root
    }

    func people(_ query: UserQuery) throws -> any PeoplePages {
        guard let url = query.url(below: root) else { throw ValidationFailure("The address of Graph is not valid.") }
        return GraphPages(client.pages(from: url))
    }
}

/// The pages that Graph links with `@odata.nextLink`.
private final class GraphPages: PeoplePages {
    private var iterator: ResourcePages.AsyncIterator

    init(_ pages: ResourcePages) {
        iterator = pages.makeAsyncIterator()
    }

    func next() async throws -> [Person]? {
        // The copy replaces the iterator only after a page arrived, so a failed request is repeated.
        var attempt = iterator
        let page = try await attempt.next()
        iterator = attempt
        return try page?.values(of: Person.self)
    }
}
