// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import IdentityClient
import IdentityResources
import OAuthWire

extension Helper {
    static let headers = Helper(
        name: "headers",
        hasOperation: true,
        help: "'helper headers URL' prints the header of a request to that address as JSON, as AI programs read it.",
        answer: .call(answerHeaders)
    )

    /// The variable in which Claude Code names the server that the header is for.
    private static let askedServer = "CLAUDE_CODE_MCP_SERVER_URL"

    /// Prints the header with the token of the profile that serves the address, or else of the sign-in for it.
    ///
    /// - SeeAlso: [Claude Code](https://code.claude.com/docs/en/mcp), `headersHelper`
    @Sendable private static func answerHeaders(_ call: HelperCall, _ session: Session) async throws {
        guard let address = ServedAddress(asked: call.operation) else {
            throw UsageError("Which address? \(ServedAddress.form)")
        }
        // A file of a project may name the command of one server and the address of another.
        if let asked = session.environment.above(nil)[askedServer], !address.serves(ServedAddress(asked: asked)) {
            throw UsageError(
                "The token is for \(call.operation.printable), and \(askedServer) names \(asked.printable). Give the helper the "
                    + "server's own address."
            )
        }
        let source = try call.source(for: address, in: session) ?? call.source(ofResource: call.operation, in: session)
        guard let token = try await source?.token(in: session) else {
            let asked = Given(text: call.operation, origin: "<url>")
            throw HelperFailure(
                cause: AuthenticationError.unknownResource(asked),
                options: SharedOptions().replacing("--resource", with: call.operation)
            )
        }
        let fields = JSONObject([("Authorization", .string("Bearer \(token.text)"))])
        try session.result(String(decoding: fields.serialized(), as: UTF8.self) + "\n")
    }
}
