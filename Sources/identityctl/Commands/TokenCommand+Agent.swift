// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import IdentityClient
import OAuthWire

extension TokenCommand {
    /// Prints the token that an agent gives.
    func run(in session: Session, through socket: Given, _ wanted: WantedToken) async throws {
        let request = try AgentRequest.Token(provider, wanted, session.environment, for: "token", socket)
        let answer = try await AgentClient(socket: socket).ask(.token(request), within: wanted.timeout)
        let token = try request.token(in: answer)
        session.console.warn(ofShortLife: token.left(at: .now), below: .seconds(request.minimumValidity))
        guard session.isJSON else { return try session.result(token.text + "\n") }
        var report = answer.object("report") ?? JSONObject()
        report["accessToken"] = answer.string("access_token").map { .string($0) }
        if request.wantsIDToken { report["idToken"] = .string(token.text) }
        try session.result(report.line + "\n")
    }
}
