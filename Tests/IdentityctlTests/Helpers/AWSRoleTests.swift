// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import IdentityClient
import OAuthWire
import Testing

@testable import identityctl

private let arn = "arn:aws:iam::123456789012:role/team/deploy"

/// The role at AWS, and the answers of its service.
@Suite struct AWSRoleTests {
    typealias ExitStatus = identityctl.ExitStatus

    private let now = Date(timeIntervalSince1970: 1_700_000_000)

    private func role(_ options: [String: String], _ variables: [String: String] = [:]) throws -> AWSRole {
        try AWSRole(options, Variables(variables))
    }

    private func credentials(_ text: String, status: Int = 200) throws -> AWSCredentials {
        try AWSCredentials(status: status, parsing: Array(text.utf8), from: "sts.test", at: now)
    }

    private func answer(_ credentials: String) -> String {
        """
        <AssumeRoleWithWebIdentityResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/">
          <AssumeRoleWithWebIdentityResult>
            <Audience>client</Audience>
            <AssumedRoleUser><Arn>arn:aws:sts::1:assumed-role/x/y</Arn><AssumedRoleId>A:y</AssumedRoleId></AssumedRoleUser>
            <Credentials>\(credentials)</Credentials>
          </AssumeRoleWithWebIdentityResult>
          <ResponseMetadata><RequestId>r</RequestId></ResponseMetadata>
        </AssumeRoleWithWebIdentityResponse>
        """
    }

    private func keys(_ expiration: String = "2023-11-14T23:00:00Z", secret: String = "s/+=") -> String {
        "<SessionToken>t+/=</SessionToken><SecretAccessKey>\(secret)</SecretAccessKey>"
            + "<Expiration>\(expiration)</Expiration><AccessKeyId>ASIA1</AccessKeyId>"
    }

    @Test func asksForTheRole() throws {
        let plain = try role(["--role-arn": arn])
        #expect(plain.endpoint.text == "https://sts.amazonaws.com/")
        #expect(
            plain.form(token: "a.b&c")
                == "Action=AssumeRoleWithWebIdentity&Version=2011-06-15"
                + "&RoleArn=arn%3Aaws%3Aiam%3A%3A123456789012%3Arole%2Fteam%2Fdeploy&RoleSessionName=identityctl"
                + "&WebIdentityToken=a.b%26c"
        )
        let whole = try role([
            "--role-arn": arn, "--role-session-name": "me@example.com", "--duration": "900", "--region": "eu-central-1",
        ])
        #expect(whole.endpoint.text == "https://sts.eu-central-1.amazonaws.com/")
        #expect(
            whole.form(token: "t").hasSuffix("&RoleSessionName=me%40example.com&WebIdentityToken=t&DurationSeconds=900")
        )
    }

    @Test func takesTheRoleFromVariables() throws {
        let variables = ["IDENTITYCTL_AWS_ROLE_ARN": arn, "IDENTITYCTL_AWS_STS_ENDPOINT": "http://127.0.0.1:9/sts"]
        #expect(try role([:], variables).endpoint.text == "http://127.0.0.1:9/sts")
        let other = try role(["--role-arn": arn + "2", "--role-session-name": "ab"], variables)
        #expect(other.form(token: "t").contains("deploy2&RoleSessionName=ab&"))
    }

    @Test(arguments: [
        ("arn:aws-cn:iam::1:role/abc", "cn-north-1", "sts.cn-north-1.amazonaws.com.cn"),
        ("arn:aws-us-gov:iam::1:role/abc", "us-gov-west-1", "sts.us-gov-west-1.amazonaws.com"),
    ])
    func asksTheServiceOfThePartition(arn: String, region: String, host: String) throws {
        #expect(try role(["--role-arn": arn, "--region": region]).endpoint.host == host)
        #expect(throws: UsageError.self) { try role(["--role-arn": arn]) }
    }

    @Test(arguments: [
        [:], ["--role-arn": ""], ["--role-arn": "deploy"], ["--role-arn": "arn:aws:iam::123456789012:user/deploy"],
        ["--role-arn": "arn:aws:iam::123456789012:role/de ploy"],
        ["--role-arn": "arn:aws:iam::123456789012:role/" + String(repeating: "x", count: 2048)],
        ["--role-arn": arn, "--role-session-name": "a"], ["--role-arn": arn, "--role-session-name": "a b"],
        ["--role-arn": arn, "--role-session-name": String(repeating: "x", count: 65)],
        ["--role-arn": arn, "--duration": "899"], ["--role-arn": arn, "--duration": "43201"],
        ["--role-arn": arn, "--duration": "1h"], ["--role-arn": arn, "--region": "evil.test/"],
        ["--role-arn": arn, "--region": ""], ["--role-arn": arn, "--region": String(repeating: "x", count: 33)],
        ["--role-arn": arn, "--sts-endpoint": "http://sts.test"], ["--role-arn": arn, "--sts-endpoint": "sts.test"],
        ["--role-arn": arn, "--sts-endpoint": "https://sts.test/?x"],
        ["--role-arn": arn, "--sts-endpoint": "https://sts.test", "--region": "eu-central-1"],
        ["--role-arn": "arn:minio:iam:::role/abcdef", "--region": "eu-central-1"],
    ])
    func refusesOtherRoles(options: [String: String]) {
        #expect(throws: UsageError.self) { try role(options) }
    }

    @Test(arguments: ["2023-11-14T23:00:00Z", "2023-11-14T23:00:00.789Z"])
    func answersInTheFormOfItsPrograms(expiration: String) throws {
        #expect(
            try credentials(answer(keys(expiration))).answer
                == #"{"Version":1,"AccessKeyId":"ASIA1","SecretAccessKey":"s/+=","SessionToken":"t+/=","#
                + #""Expiration":"2023-11-14T23:00:00Z"}"# + "\n"
        )
    }

    @Test func believesNoOtherAnswer() throws {
        let bodies = [
            "", "{}", answer(""), answer(keys() + "<AccessKeyId>ASIA2</AccessKeyId>"), answer(keys(secret: "")),
            answer(keys(secret: "a b")), answer(keys(secret: "a&#10;b")), answer(keys("2023-11-14T21:00:00Z")),
            answer(keys("tomorrow")), answer(keys(secret: String(repeating: "x", count: 16_385))),
            "<Credentials>\(keys())</Credentials>", "<!DOCTYPE a>" + answer(keys()),
        ]
        for body in bodies {
            let error = #expect(throws: AuthenticationError.self) { try credentials(body) }
            #expect(error?.code == .malformedResponse && error?.message.contains("s/+=") == false, "\(body)")
        }
    }

    @Test(arguments: [
        (400, "InvalidIdentityToken", AuthenticationError.Code.clientNotRegistered, ExitStatus.refused),
        (400, "ExpiredTokenException", .invalidIDToken, .notBelieved),
        (403, "AccessDenied", .blockedByPolicy, .refused),
        (400, "ValidationError", .invalidArgument, .usage),
        (400, "IDPCommunicationError", .serverUnavailable, .unavailable),
        (400, "Throttling", .serverUnavailable, .unavailable), (503, "Later", .serverUnavailable, .unavailable),
        (400, "Later", .configuration, .other),
    ])
    func tellsWhatTheServiceSaid(status: Int, code: String, kind: AuthenticationError.Code, exit: ExitStatus) {
        let body = """
            <ErrorResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><Error><Type>Sender</Type><Code>\(code)</Code>\
            <Message>No &quot;provider&quot;&#10;for it</Message></Error><RequestId>r</RequestId></ErrorResponse>
            """
        let error = #expect(throws: AuthenticationError.self) { try credentials(body, status: status) }
        #expect(error?.code == kind && error.map { ExitStatus(for: $0) } == exit)
        #expect(error?.serverError?.error == code && error?.serverError?.httpStatus == status)
        #expect(error?.serverError?.errorDescription == #"No "provider" for it"#)
    }

    @Test func tellsTheStatusOfAnswersWithoutWords() {
        let error = #expect(throws: AuthenticationError.self) { try credentials("<html>", status: 307) }
        #expect(error?.code == .malformedResponse && error?.serverError?.error == "http_307")
        let down = #expect(throws: AuthenticationError.self) { try credentials("<html>", status: 502) }
        #expect(down?.code == .serverUnavailable && down?.serverError?.error == "http_502")
    }
}
