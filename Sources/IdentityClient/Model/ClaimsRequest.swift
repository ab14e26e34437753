// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

package import OAuthWire

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

    var isAny: Bool { acrValues == nil && amr.isEmpty }

    func isMet(by claims: IDTokenClaims?) -> Bool {
        guard let claims else { return isAny }
        if let acrValues, !claims.hasACR(in: acrValues) { return false }
        return amr.isSubset(of: claims.raw.strings("amr") ?? [])
    }
}

/// The demands that an API makes of the next sign-in when it refuses a token: more scopes, or a newer or another kind of
/// authentication (step-up).
///
/// `AuthenticatedClient` of `IdentityResources` throws them with an error; a program that calls an API in another way
/// reads them itself:
///
/// ```swift
/// let fields = response.headerFields[values: .wwwAuthenticate]
/// if let challenge = ResourceChallenge(inChallenges: fields) {
///     var parameters = InteractiveParameters(scopes: scopes.union(challenge.scopes), account: account)
///     parameters.acrValues = challenge.acrValues
///     parameters.maxAge = challenge.maxAge
///     result = try await app.acquireTokenInteractively(parameters)
/// }
/// ```
/// - SeeAlso: [RFC 6750 §3.1](https://www.rfc-editor.org/rfc/rfc6750#section-3.1),
///   [RFC 9470 §3](https://www.rfc-editor.org/rfc/rfc9470#section-3)
public struct ResourceChallenge: Hashable, Sendable {
    /// The scopes that the token must have (`scope`). In an error of `AuthenticatedClient`, also the scopes that the
    /// refused token has; empty if no scope is missing.
    public var scopes: Set<Scope>

    /// The accepted authentication contexts, in order of preference (`acr_values`); empty if any is accepted.
    public var acrValues: [String]

    /// The longest time since the person authenticated (`max_age`); `nil` if any is accepted.
    public var maxAge: Duration?

    /// Creates a challenge, for a program's tests.
    public init(scopes: Set<Scope> = [], acrValues: [String] = [], maxAge: Duration? = nil) {
        self.scopes = scopes
        self.acrValues = acrValues
        self.maxAge = maxAge
    }

    /// Reads the demands in an answer of 401 or 403; `nil` if there are none that a sign-in could meet.
    ///
    /// The first Bearer or PoP challenge with the error `insufficient_scope` and a scope, or with
    /// `insufficient_user_authentication`, counts. Claims challenges are read by `SilentParameters.claims(inChallenges:)`.
    /// - Parameter fieldValues: The values of all `WWW-Authenticate` fields of the answer.
    public init?(inChallenges fieldValues: [String]) {
        guard let found = AuthenticationChallenge.parse(fieldValues).lazy.compactMap(Self.init).first else {
            return nil
        }
        self = found
    }

    /// The challenge's words are an API's: texts that do not fit into a request are not passed on.
    package init?(_ challenge: AuthenticationChallenge) {
        guard challenge.isOfAToken else { return nil }
        self.init()
        let scope = challenge.parameters["scope"] ?? ""
        if scope.utf8.count <= Self.maximumLength {
            let words = Set(scope.split(separator: " ").map { Scope(rawValue: String($0)) })
            if words.allSatisfy(\.isWellFormed) { scopes = words }
        }
        switch challenge.error {
        case "insufficient_scope":
            guard !scopes.isEmpty else { return nil }
        case "insufficient_user_authentication":
            let values = challenge.parameters["acr_values"] ?? ""
            guard values.utf8.count <= Self.maximumLength, !values.unicodeScalars.contains(where: \.isControl) else {
                return nil
            }
            acrValues = values.split(separator: " ").map(String.init)
            maxAge = challenge.parameters["max_age"].flatMap(Self.seconds)
        default: return nil
        }
    }

    private static let maximumLength = 1000

    /// A whole number of seconds. A time that no request could hold is as good as 68 years.
    private static func seconds(_ text: String) -> Duration? {
        guard !text.isEmpty, text.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
        return .seconds(min(Int64(text) ?? .max, Int64(Int32.max)))
    }
}

extension Unicode.Scalar {
    fileprivate var isControl: Bool { value < 0x20 || (0x7F..<0xA0).contains(value) }
}
