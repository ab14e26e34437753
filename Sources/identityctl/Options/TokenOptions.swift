// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import IdentityClient
import OAuthWire

/// Options that choose the token.
struct TokenOptions: ParsableArguments {
    @Option(
        name: .customLong("scope"),
        help: ArgumentHelp("A scope the token must have. Repeatable.", valueName: "scope")
    )
    var scopes: [String] = []

    @Option(help: ArgumentHelp("A claims request or challenge.", valueName: "json"))
    var claims: String?
}

extension TokenOptions {
    func scopes(_ environment: Environment) throws -> Set<Scope> {
        Set(try environment.words("scope", scopes).map(Scope.init(rawValue:)))
    }

    func claims(_ environment: Environment) throws -> String? {
        guard let given = try environment.given("claims", claims) else { return nil }
        do {
            _ = try JSONObject(parsing: Array(given.text.utf8))
        } catch {
            throw given.error("this is not a JSON object.")
        }
        return given.text
    }
}
