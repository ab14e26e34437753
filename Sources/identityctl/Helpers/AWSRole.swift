// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import HTTPTypes
import IdentityClient
import OAuthWire

/// The role that a person takes at AWS with an ID token, and the service that gives the credentials for it.
///
/// - SeeAlso: [AssumeRoleWithWebIdentity](https://docs.aws.amazon.com/STS/latest/APIReference/API_AssumeRoleWithWebIdentity.html)
struct AWSRole: Hashable, Sendable {
    /// The names of the options, without dashes. A profile and a variable have them with `aws-` before.
    static let names = ["role-arn", "role-session-name", "duration", "sts-endpoint", "region"]

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
    init(_ options: [String: String], _ environment: Environment) throws {
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
    func credentials(for token: String, within limit: Duration) async throws -> AWSCredentials {
        let request = HTTPRequest(
            method: .post,
            scheme: endpoint.scheme,
            authority: endpoint.environment,
            path: endpoint.target,
            headerFields: [.contentType: FormURLEncoded.contentType, .accept: "text/xml"]
        )
        let transport = CurlTransport(timeout: limit, maximumResponseBytes: Self.maximumBytes)
        let (response, body) = try await transport.send(request, body: Array(form(token: token).utf8))
        return try AWSCredentials(status: response.status.code, parsing: body, from: endpoint.host, at: .now)
    }
}
