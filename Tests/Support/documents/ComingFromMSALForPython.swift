// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

// Apart: `let claims = SilentParameters.claims(inChallenges: wwwAuthenticate)`: the account is one that is known.
// Apart: `try await app.signOut(account)`: as above.
let wwwAuthenticate: [String] = []
let path = ""
func show(_ page: URL) async throws -> URL { page }
