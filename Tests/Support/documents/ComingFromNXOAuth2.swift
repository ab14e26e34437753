// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

// Apart: `let app = try store.application(ofType: account.type)`: a request of the program's own.
// Apart: `let app = try store.application(ofType: "work")`: a program that has a refresh token.
import IdentityKeyring
import IdentityResources

var store: AccountStore { fatalError() }
var account: StoredAccount { fatalError() }
var client: AuthenticatedClient { fatalError() }
var users: URL { url }
var list: URL { url }
let (typed, text, tenant, path) = ("", "", "", "")
let id: ClientID = "your-client-id"
nonisolated(unsafe) var found: [User] = []
struct User: Decodable {}
var old: String { "" }
func signInPage() {}
func show(_ page: URL) async throws -> URL { page }
func welcome(_ account: Account) {}
func reload(_ old: StoredAccount?, _ new: StoredAccount?) {}
func report(_ error: any Error) {}
