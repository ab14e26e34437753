// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import IdentityClient
import OAuthWire
import SystemSupport

/// Tokens of the cache, and in place of an ended or refused one that of a process of its own: a bridge may be ended between the
/// server's answer, which spends the refresh token, and its being stored.
struct RenewedElsewhere: TokenSource {
    let base: any TokenSource
    let command: MCPCommand

    func token(_ wanted: WantedToken) async throws -> HandedToken {
        guard wanted.claims == nil else { return try await base.token(wanted) }
        if let kept = try await base.kept(wanted) { return kept }
        let refused = wanted.refusedToken.map { Digest.hexadecimal(of: [$0]) } ?? "expired"
        _ = try await DetachedProcess.run(
            "/proc/self/exe",
            arguments: ["identityctl", "mcp", command.url, "--renew=\(refused)"]
                + command.options(demanding: wanted.scopes).words,
            environment: DesktopSignIn.variables(),
            timeout: .seconds(50)
        )
        // The reason of a failure is that of another attempt.
        if let kept = try await base.kept(wanted) { return kept }
        return try await base.token(wanted)
    }
}
