// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

package import OAuthWire

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
        guard !text.isEmpty, text.utf8.areDigits else { return nil }
        return .seconds(min(Int64(text) ?? .max, Int64(Int32.max)))
    }
}
