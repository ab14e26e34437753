// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

// Apart: `let recommendation = InteractionEnvironment.current().recommendation`: it assigns a result of the program's own.
import Glibc

var task: Task<Void, any Error> { fatalError() }
let isVerbose = false
func fail(_ text: String) {}
func signInByHand(scopes: Set<Scope>) async throws -> AuthenticationResult { fatalError() }
