// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import OAuthWire

/// A request for single claims, for the `claims` of a sign-in.
///
/// Providers that do not support it ignore it (`claims_parameter_supported` in their configuration).
///
/// ```swift
/// var request = ClaimsRequest()
/// request.add("email", to: .userInfo, isEssential: true)
/// request.add("acr", to: .idToken, isEssential: true, values: ["urn:mace:incommon:iap:silver"])
/// parameters.claims = request.json
/// ```
///
/// An essential `acr` with values is also checked in the ID token: a sign-in without one of them fails. Any other claim may
/// be missing from the answer, even if it is essential.
/// - SeeAlso: [OpenID Connect Core §5.5](https://openid.net/specs/openid-connect-core-1_0.html#ClaimsParameter)
public struct ClaimsRequest: Hashable, Sendable {
    /// The place in which a claim is requested.
    ///
    /// ```swift
    /// request.add("groups", to: .idToken)
    /// ```
    public struct Destination: RawRepresentable, Hashable, Sendable {
        /// The name of the request's member.
        public let rawValue: String

        /// Wraps the name of a member.
        public init(rawValue: String) { self.rawValue = rawValue }

        /// The ID token.
        public static let idToken = Destination(rawValue: "id_token")
        /// The answer of the UserInfo endpoint.
        public static let userInfo = Destination(rawValue: "userinfo")
        /// The access token, Microsoft's addition.
        public static let accessToken = Destination(rawValue: "access_token")
    }

    private var object = JSONObject()

    /// Creates a request without claims.
    public init() {}

    /// The request as JSON text.
    public var json: String { String(decoding: object.serialized(), as: UTF8.self) }

    /// Adds a claim, or replaces its request.
    ///
    /// - Parameters:
    ///   - claim: The name, such as `email`.
    ///   - destination: The place in which the claim is requested.
    ///   - isEssential: Whether the program needs the claim. The provider may still leave it out.
    ///   - values: The requested values, in order of preference; empty for any.
    public mutating func add(
        _ claim: String,
        to destination: Destination,
        isEssential: Bool = false,
        values: [String] = []
    ) {
        var request = JSONObject()
        if isEssential { request["essential"] = .bool(true) }
        if values.count == 1 { request["value"] = .string(values[0]) }
        if values.count > 1 { request["values"] = .strings(values) }
        var claims = object.object(destination.rawValue) ?? JSONObject()
        claims[claim] = request.isEmpty ? .null : .object(request)
        object[destination.rawValue] = .object(claims)
    }
}

/// The way in which the person must have authenticated, as a program requires it of a sign-in.
struct RequiredAuthentication: Sendable {
    /// The values of which `acr` must be one; `nil` if any is accepted.
    var acrValues: [String]?
    /// The methods that `amr` must all name.
    var amr: Set<String> = []

    var isEmpty: Bool { acrValues == nil && amr.isEmpty }

    func isMet(by claims: IDTokenClaims?) -> Bool {
        guard let claims else { return isEmpty }
        if let acrValues, !claims.hasACR(in: acrValues) { return false }
        return amr.isSubset(of: claims.raw.strings("amr") ?? [])
    }
}
