// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import HTTPTypes
import IdentityClient
import OAuthWire
import SystemSupport

extension Helper {
    static let aws = Helper(
        name: "aws",
        options: Set(Setting.awsNames.map { "--\($0)" }),
        help: "'helper aws --role-arn ARN' is AWS's credential_process: it takes the role with the ID token.",
        answer: .call(AWSRole.answer)
    )
}

/// The role that a person takes at AWS with an ID token, and the service that gives the credentials for it.
///
/// - SeeAlso: [AssumeRoleWithWebIdentity](https://docs.aws.amazon.com/STS/latest/APIReference/API_AssumeRoleWithWebIdentity.html)
struct AWSRole: Hashable, Sendable {
    /// The largest answer in bytes. A real one has about 2,000.
    private static let maximumBytes = 64 << 10

    let endpoint: WebAddress
    private let arn: String
    private let sessionName: String
    private let duration: Int?

    /// - Parameters:
    ///   - options: The values on the command line.
    ///   - environment: The variables, and the profile.
    /// - Throws: `UsageError` if no role is named, or a value cannot be used.
    init(_ options: [String: String], _ environment: Variables) throws {
        func given(_ name: String) throws -> Given? {
            guard let text = options["--\(name)"] else { return try environment.given("aws-\(name)", nil) }
            let given = Given(text: text, origin: "--\(name)")
            guard !text.isEmpty else { throw given.error("the value is empty.") }
            return given
        }
        guard let arn = try given("role-arn") else {
            throw UsageError("Which role? Give --role-arn, or a line aws-role-arn in the profile.")
        }
        let parts = arn.text.split(separator: ":", maxSplits: 5, omittingEmptySubsequences: false)
        guard parts.count == 6, parts[0] == "arn", parts[2] == "iam", parts[5].hasPrefix("role/"),
            (20...2048).contains(arn.text.utf8.count), arn.text.utf8.areVisible
        else {
            throw arn.error("'\(arn.text.printable)' is no role. Give one like arn:aws:iam::123456789012:role/NAME.")
        }
        self.arn = arn.text
        let name = try given("role-session-name")
        sessionName = name?.text ?? "identityctl"
        if let name, !(2...64).contains(name.text.utf8.count) || !name.text.utf8.areAlphanumeric(or: "_+=,.@-") {
            throw name.error("give 2 to 64 letters, digits and the signs _ + = , . @ -")
        }
        duration = try given("duration").map { given in
            guard let seconds = Int(given.text), (900...43_200).contains(seconds) else {
                throw given.error("'\(given.text.printable)' is not a whole number of seconds from 900 to 43200.")
            }
            return seconds
        }
        endpoint = try Self.endpoint(try given("sts-endpoint"), try given("region"), arn, partition: String(parts[1]))
    }

    private static func endpoint(_ address: Given?, _ region: Given?, _ arn: Given, partition: String) throws
        -> WebAddress
    {
        if let address {
            if let region { throw UsageError("Give one of \(address.origin) and \(region.origin), not both.") }
            guard let endpoint = WebAddress(address.text), endpoint.query == nil else {
                throw address.error(
                    "give an https address, such as https://sts.example.com; http only on this machine."
                )
            }
            return endpoint
        }
        guard let region else {
            guard partition == "aws" else {
                throw arn.error("the role is in '\(partition.printable)'. Give --region or --sts-endpoint for it.")
            }
            return WebAddress(host: "sts.amazonaws.com")
        }
        guard region.text.utf8.areAlphanumeric(or: "-"), region.text.utf8.count <= 32 else {
            throw region.error("'\(region.text.printable)' is no region. Give one like eu-central-1.")
        }
        switch partition {
        case "aws", "aws-us-gov": return WebAddress(host: "sts.\(region.text).amazonaws.com")
        case "aws-cn": return WebAddress(host: "sts.\(region.text).amazonaws.com.cn")
        default: throw region.error("for a role in '\(partition.printable)' give --sts-endpoint.")
        }
    }

    /// Returns the request's body.
    func form(token: String) -> String {
        FormURLEncoded.encode(
            [
                ("Action", "AssumeRoleWithWebIdentity"), ("Version", "2011-06-15"), ("RoleArn", arn),
                ("RoleSessionName", sessionName), ("WebIdentityToken", token),
            ] + (duration.map { [("DurationSeconds", String($0))] } ?? [])
        )
    }

    /// Asks for credentials. The request is not signed: the ID token is the proof.
    ///
    /// - Throws: `AuthenticationError`, `CancellationError`.
    func credentials(for token: String, over transport: CurlTransport) async throws -> AWSCredentials {
        let request = HTTPRequest(
            method: .post,
            scheme: endpoint.scheme,
            authority: endpoint.environment,
            path: endpoint.target,
            headerFields: [.contentType: FormURLEncoded.contentType, .accept: "text/xml"]
        )
        let (response, body) = try await transport.send(request, body: Array(form(token: token).utf8))
        return try AWSCredentials(status: response.status.code, parsing: body, from: endpoint.host, at: .now)
    }

    /// A mistake in the role is found before the provider is asked.
    fileprivate static func answer(_ call: HelperCall, _ session: Session) async throws {
        let source = try call.source(in: session)
        let role = try AWSRole(call.own, source.route.variables)
        let token = try await source.anyToken(in: session, wantsIDToken: true)
        let transport = try source.command.provider.transport(
            source.route.variables,
            timeout: call.timeout,
            maximumResponseBytes: Self.maximumBytes
        )
        try session.result(try await role.credentials(for: token.text, over: transport).answer)
    }
}

/// Credentials of AWS that last for some hours, in the form that its programs read.
///
/// - SeeAlso: [External process](https://docs.aws.amazon.com/sdkref/latest/guide/feature-process-credentials.html)
struct AWSCredentials: Hashable, Sendable {
    private let accessKeyID: String
    private let secretAccessKey: String
    private let sessionToken: String
    private let expiresOn: Date

    /// - Throws: `AuthenticationError` for a refusal, in the service's words, and for an answer that is none.
    init(status: Int, parsing body: [UInt8], from host: String, at now: Date) throws {
        let texts = try? XMLTexts(parsing: body)
        guard status == 200 else { throw Self.refusal(status, texts, host) }
        let place = "AssumeRoleWithWebIdentityResponse/AssumeRoleWithWebIdentityResult/Credentials/"
        func value(_ name: String) -> String? {
            texts?[place + name].flatMap { text in
                (1...16_384).contains(text.utf8.count) && text.utf8.areVisible ? text : nil
            }
        }
        guard let accessKeyID = value("AccessKeyId"), let secretAccessKey = value("SecretAccessKey"),
            let sessionToken = value("SessionToken"), let expiration = value("Expiration"),
            let expiresOn = Self.date(expiration)
        else {
            throw AuthenticationError(
                .malformedResponse,
                "\(host) sent no credentials that can be read. Check --region or --sts-endpoint."
            )
        }
        guard expiresOn > now else {
            throw AuthenticationError(
                .malformedResponse,
                "The credentials of \(host) expired at \(expiresOn.utcText). Check this computer's clock."
            )
        }
        self.accessKeyID = accessKeyID
        self.secretAccessKey = secretAccessKey
        self.sessionToken = sessionToken
        self.expiresOn = expiresOn
    }

    /// The answer to the program that asked.
    var answer: String {
        let answer = JSONObject([
            ("Version", .integer(1)), ("AccessKeyId", .string(accessKeyID)),
            ("SecretAccessKey", .string(secretAccessKey)),
            ("SessionToken", .string(sessionToken)), ("Expiration", .string(expiresOn.utcText)),
        ])
        return String(decoding: answer.serialized(), as: UTF8.self) + "\n"
    }

    /// Some compatible services write fractions of a second.
    private static func date(_ text: String) -> Date? {
        (try? Date(text, strategy: .iso8601))
            ?? (try? Date(text, strategy: Date.ISO8601FormatStyle(includingFractionalSeconds: true)))
    }

    private static func refusal(_ status: Int, _ texts: XMLTexts?, _ host: String) -> AuthenticationError {
        let code = texts?["ErrorResponse/Error/Code"].map(WireText.clean) ?? "http_\(status)"
        let (kind, message) = meaning(of: code, status, host)
        let server = ServerError(
            error: code,
            errorDescription: texts?["ErrorResponse/Error/Message"].map(WireText.clean),
            httpStatus: status
        )
        return AuthenticationError(kind, message, serverError: server)
    }

    /// Returns what a refusal means, and what to do.
    private static func meaning(of code: String, _ status: Int, _ host: String) -> (AuthenticationError.Code, String) {
        switch code {
        case "ExpiredTokenException", "ExpiredToken":
            (
                .invalidIDToken,
                "AWS takes the ID token for expired. Check this computer's clock, and run: identityctl token --force-refresh"
            )
        case "InvalidIdentityToken":
            (
                .clientNotRegistered,
                "AWS does not accept the ID token. In IAM, make an identity provider with the issuer, and the client id as "
                    + "its audience."
            )
        case "IDPRejectedClaim":
            (.invalidIDToken, "AWS rejects what the ID token says. Sign in again, or ask the provider's administrator.")
        case "AccessDenied", "AccessDeniedException":
            (
                .blockedByPolicy,
                "AWS does not give this person the role. Check its ARN, and the conditions in its trust policy."
            )
        case "ValidationError":
            (.invalidArgument, "AWS refuses a value. Check --role-arn, --role-session-name and --duration.")
        case "RegionDisabledException":
            (.configuration, "AWS has no service for this account in the region. Give another --region.")
        case "IDPCommunicationError":
            (.serverUnavailable, "AWS could not ask the provider for its keys. Try again later.")
        case _ where status >= 500 || status == 429 || code.hasPrefix("Throttling"):
            (.serverUnavailable, "\(host) is not available (status \(status)). Try again later.")
        case _ where (300..<400).contains(status):
            (
                .malformedResponse,
                "\(host) redirects, and a token follows no redirect. Check --region or --sts-endpoint."
            )
        default: (.configuration, "\(host) refused the request (status \(status)).")
        }
    }
}

extension IntegratedTool {
    static let aws = IntegratedTool(name: "aws", asks: .profile) { LinesIntegration.aws(in: $0) }
}

extension LinesIntegration {
    private static let shortDuration =
        "aws-duration is below 1800: AWS's programs then run the helper, and ask AWS, at nearly each request."

    /// AWS's command can set the line, and cannot remove it.
    ///
    /// - SeeAlso: [credential_process](https://docs.aws.amazon.com/cli/latest/userguide/cli-configure-sourcing-external.html)
    static func aws(in home: Home) -> LinesIntegration {
        let key = "credential_process = "
        return LinesIntegration(
            tool: .aws,
            home: home,
            link: nil,
            path: home.environment["AWS_CONFIG_FILE"] ?? "\(home.path)/.aws/config",
            lines: { subject in
                let profile = subject.profile?.text ?? ""
                let named = subject.profile.flatMap { try? ProfileDirectory(home.environment).profile(named: $0) }
                let seconds = named?.given("aws-duration").flatMap { Int($0.text) }
                let isHere = home.environment[Variables.variable(for: "agent")] == nil
                let hasRole = named?.given("aws-role-arn") != nil
                return (
                    [
                        "[profile identityctl-\(profile)]",
                        "\(key)\(home.command.shellWord) helper aws --profile \(profile)",
                    ],
                    [
                        hasRole || !isHere
                            ? "The role is in the line aws-role-arn of the profile '\(profile)'."
                            : "The profile has no role yet. Add a line 'aws-role-arn = ARN': identityctl profile edit \(profile)",
                        "To use it, run: aws --profile identityctl-\(profile) sts get-caller-identity",
                    ] + (seconds.map { $0 < 1800 } == true ? [shortDuration] : [])
                )
            },
            conflicts: { other, own in own.hasPrefix("[") && other.filter { $0 != " " } == own.filter { $0 != " " } },
            use: { line in
                guard line.hasPrefix(key), let profile = line.split(separator: " ").last.map(String.init) else {
                    return nil
                }
                let end = line.firstRange(of: " helper aws ")?.lowerBound
                let word = end.map { line[..<$0].dropFirst(key.count) }
                // Quotation marks are around a path with a blank.
                let program = word.map { $0.hasPrefix("'") ? $0.dropFirst().dropLast() : $0 }.map(String.init)
                return IntegrationUse(
                    label: "identityctl-\(profile)",
                    profile: profile,
                    obstacle: program.flatMap(home.obstacle)
                )
            },
            replacesSameUse: true
        )
    }
}
