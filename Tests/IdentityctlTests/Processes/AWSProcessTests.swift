// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import IdentityTestSupport
import IdentityTesting
import LoopbackHTTP
import OAuthWire
import Testing

/// Calls as AWS's programs make them, and a service that gives credentials.
@Suite struct AWSProcessTests {
    private static let role = ["helper", "aws", "--role-arn", "arn:aws:iam::123456789012:role/deploy"]

    private static func credentials(_ key: String) -> LoopbackResponse {
        LoopbackResponse(
            status: 200,
            text: """
                <AssumeRoleWithWebIdentityResponse><AssumeRoleWithWebIdentityResult><Credentials><AccessKeyId>\(key)\
                </AccessKeyId><SecretAccessKey>s</SecretAccessKey><SessionToken>t</SessionToken>\
                <Expiration>2999-01-01T00:00:00Z</Expiration></Credentials></AssumeRoleWithWebIdentityResult>\
                </AssumeRoleWithWebIdentityResponse>
                """,
            type: "text/xml"
        )
    }

    private func run(
        _ service: ResourceServer,
        _ setup: ToolSetup,
        _ arguments: [String] = role
    ) async throws -> Tool.Outcome {
        var variables = setup.variables
        variables["IDENTITYCTL_AWS_STS_ENDPOINT"] = service.origin
        return try await Tool.run(arguments, variables)
    }

    @Test(.timeLimit(.minutes(1))) func takesTheRoleWithTheIDToken() async throws {
        let setup = try ToolSetup()
        let service = try ResourceServer { _ in Self.credentials("ASIA1") }
        let missing = try await run(service, setup)
        #expect(
            missing.status == 2 && missing.output.isEmpty && missing.errors.contains("identityctl login"),
            "\(missing)"
        )
        #expect(service.requests.isEmpty)
        try await setup.signIn()
        let found = try await run(service, setup)
        #expect(found.status == 0 && found.errors.isEmpty, "\(found)")
        #expect(
            found.output
                == #"{"Version":1,"AccessKeyId":"ASIA1","SecretAccessKey":"s","SessionToken":"t","#
                + #""Expiration":"2999-01-01T00:00:00Z"}"# + "\n"
        )
        let request = try #require(service.requests.first)
        #expect(request.method == "POST" && request.headers["Authorization"] == nil)
        let form = try FormURLEncoded.decode(String(decoding: request.body, as: UTF8.self))
        let idToken = try await setup.run("token", "--id-token").output.dropLast()
        #expect(form.first { $0.0 == "WebIdentityToken" }?.1 == String(idToken))
        #expect(form.first { $0.0 == "RoleArn" }?.1 == Self.role.last)
    }

    @Test(.timeLimit(.minutes(1))) func tellsTheRefusalWithoutTheToken() async throws {
        let setup = try ToolSetup()
        try await setup.signIn()
        let idToken = try await setup.run("token", "--id-token").output.dropLast()
        let refusing = try ResourceServer { _ in
            let text =
                "<ErrorResponse><Error><Code>AccessDenied</Code><Message>Not you</Message></Error></ErrorResponse>"
            return LoopbackResponse(status: 403, text: text, type: "text/xml")
        }
        let refused = try await run(refusing, setup)
        #expect(refused.status == 7 && refused.output.isEmpty, "\(refused)")
        #expect(refused.errors.contains("The server said: AccessDenied: Not you"), "\(refused)")
        #expect(refused.errors.contains("trust policy") && !refused.errors.contains(idToken), "\(refused)")
    }

    @Test(.timeLimit(.minutes(1))) func followsNoRedirectAndReadsNoFlood() async throws {
        let setup = try ToolSetup()
        try await setup.signIn()
        let target = try ResourceServer { _ in Self.credentials("ASIA2") }
        let redirecting = try ResourceServer { _ in .redirect(307, to: target.origin) }
        let redirected = try await run(redirecting, setup)
        #expect(redirected.status == 5 && redirected.output.isEmpty && target.requests.isEmpty, "\(redirected)")
        let flooding = try ResourceServer(answering: String(repeating: "x", count: 65 << 10))
        let flooded = try await run(flooding, setup)
        #expect(flooded.status == 5 && flooded.output.isEmpty && flooded.errors.contains("65536 bytes"), "\(flooded)")
    }

    @Test(.timeLimit(.minutes(1))) func tellsAMistakeBeforeAnythingIsAsked() async throws {
        let setup = try ToolSetup()
        let service = try ResourceServer { _ in Self.credentials("ASIA1") }
        let wrong = try await run(service, setup, ["helper", "aws", "--role-arn", "deploy"])
        #expect(wrong.status == 64 && wrong.output.isEmpty && wrong.errors.contains("--role-arn: "), "\(wrong)")
        let none = try await run(service, setup, ["helper", "aws"])
        #expect(none.status == 64 && none.errors.contains("aws-role-arn"), "\(none)")
        #expect(service.requests.isEmpty && setup.provider.count(of: .token) == 0)
    }
}
