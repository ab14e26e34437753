// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

// Apart: `let app = try store.application(ofType: account.type)`: a request of the program's own.
// Apart: `let app = try store.application(ofType: "work")`: a program that has a refresh token.
import IdentityKeyring
import IdentityResources

var store: AccountStore { fatalError() }
var account: StoredAccount { fatalError() }
var old: String { "" }
let path = ""
func welcome(_ account: Account) {}
func reload(_ old: StoredAccount?, _ new: StoredAccount?) {}
func report(_ error: any Error) {}
