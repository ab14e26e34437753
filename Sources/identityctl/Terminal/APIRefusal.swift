// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import IdentityClient
import OAuthWire

/// An API's answer that is not a success, and the details in its head.
struct APIRefusal: Error, CustomStringConvertible {
    let status: Int
    /// The time to wait before the next attempt, in seconds.
    let retryAfter: Int?
    /// The address that the answer leads to, as the API spells it.
    let location: String?
    /// The first Bearer challenge with an error.
    let challenge: AuthenticationChallenge?

    /// - Parameter now: Unix seconds.
    init(_ response: HTTPResponse, now: Int64) {
        status = response.status.code
        retryAfter = response.headerFields[.retryAfter].flatMap { RetryAfter.seconds($0, now: now) }
        location = response.status.kind == .redirection ? response.headerFields[.location] : nil
        challenge = AuthenticationChallenge.parse(response.headerFields[values: .wwwAuthenticate])
            .first { $0.scheme == "bearer" && $0.error != nil }
    }

    var description: String { "The resource answered with status \(status)." }

    /// The API's explanation, in lines for people.
    var details: [String] {
        var lines: [String] = []
        if let location {
            lines.append("It redirects to \(location.printable), which is followed for GET and HEAD only.")
        }
        if let challenge {
            let names = ["error", "error_description", "scope", "acr_values", "max_age"]
            let words = names.compactMap { name in challenge.parameters[name].map { "\(name)=\"\($0)\"" } }
            lines.append("The API said: \(words.joined(separator: ", ").printable)")
        }
        if let retryAfter { lines.append("Try again in \(retryAfter) s.") }
        return lines
    }

    /// The members of the refusal that go into the JSON of an error.
    var members: [(String, JSONValue)] {
        var members: [(String, JSONValue)] = [("httpStatus", .integer(status))]
        if let retryAfter { members.append(("retryAfter", .integer(retryAfter))) }
        if let location { members.append(("location", .string(location))) }
        if let challenge { members.append(("challenge", .object(Self.json(challenge)))) }
        return members
    }

    private static func json(_ challenge: AuthenticationChallenge) -> JSONObject {
        let names = [
            ("error", "error"), ("error_description", "errorDescription"), ("scope", "scope"),
            ("acr_values", "acrValues"), ("max_age", "maxAge"), ("resource_metadata", "resourceMetadata"),
        ]
        return JSONObject(
            names.compactMap { name, member in challenge.parameters[name].map { (member, .string($0)) } }
        )
    }
}
