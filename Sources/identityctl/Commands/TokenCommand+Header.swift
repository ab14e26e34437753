// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import IdentityClient
import IdentityResources
import OAuthWire

extension TokenCommand {
    /// Prints the `Authorization` header of one signed request.
    func writeHeader(in session: Session) async throws {
        let environment = session.environment
        try scheme.checkWorksWithoutAgent(environment)
        if try file.isGiven { throw UsageError("--output: a header for one request is printed, and not kept.") }
        let request = try signedRequest.signed()
        var wanted = try WantedToken(token, account, silent, environment)
        guard !wanted.isIDToken else { throw UsageError("--id-token: an ID token signs no requests.") }
        wanted.scheme = try scheme.chosen(environment)
        wanted.provesKey = true
        let application = try session.application(provider)
        let source = ApplicationSource(application: application, console: session.console)
        let result = try await ShortLifeWarning(base: source, session: session).token(wanted).result
        _ = await session.isStored(result)
        if result.scheme == .dpop {
            var request = request
            try result.authorize(&request, nonce: signedRequest.nonce)
            let fields = ["Authorization", "DPoP"].map { name in
                (name, HTTPField.Name(name).flatMap { request.headerFields[$0] } ?? "")
            }
            let json = JSONObject(fields.map { ($0.0, .string($0.1)) })
            return try session.result(
                session.isJSON ? json.line + "\n" : fields.map { "\($0.0): \($0.1)\n" }.joined()
            )
        }
        let header = try result.authorizationHeader(for: request, nonce: signedRequest.nonce)
        try session.result(
            session.isJSON ? JSONReport.header(header, of: result).line + "\n" : header + "\n"
        )
    }
}
