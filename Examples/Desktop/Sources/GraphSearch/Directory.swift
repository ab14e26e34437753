// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import DesktopKit
import Foundation
import IdentityClient

/// Where people are looked up.
@MainContext
protocol Directory: Sendable {
    /// Begins to look people up. Nothing is sent yet.
    func people(_ query: UserQuery) throws -> any PeoplePages
}

/// People page by page.
@MainContext
protocol PeoplePages: Sendable {
    /// The next page; `nil` after the last one. After an error the same page is asked for again.
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

/// The pages that Graph hands out with `@odata.nextLink`.
private final class GraphPages: PeoplePages {
    private var iterator: ResourcePages.AsyncIterator

    init(_ pages: ResourcePages) {
        iterator = pages.makeAsyncIterator()
    }

    func next() async throws -> [Person]? {
        // A copy goes on only when it has a page: what failed is asked for once more.
        var attempt = iterator
        let page = try await attempt.next()
        iterator = attempt
        return try page?.values(of: Person.self)
    }
}
