// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import OAuthWire

extension BrokerTokens {
    /// The longest lifetime of an access token that is believed. Entra ID's longest is 28 hours.
    private static let longestLifetime = 48.0 * 3600
    /// The lifetime of an access token whose own and whose broker's times are nonsense: the broker is asked again soon.
    private static let unknownLifetime: Int64 = 300

    /// Returns the answer in the form in which a token endpoint gives it, so that it passes the same checks.
    ///
    /// - Parameters:
    ///   - account: The account that was asked for, which counts if the broker names none.
    ///   - scheme: The scheme of the access token; see `check(_:_:)`.
    func response(for account: Account?, _ scheme: AuthenticationScheme, at now: Int64) -> TokenResponse {
        var json = JSONObject([
            ("access_token", .string(accessToken)), ("token_type", .string(scheme.description)),
            ("expires_in", .integer(lifetime(at: now))),
        ])
        json["scope"] = scopes.map { .string($0.joined(separator: " ")) }
        json["id_token"] = idToken.map { .string($0) }
        json["client_info"] = clientInfo(homeAccountID ?? account?.homeAccountID ?? personOfIDToken).map { .string($0) }
        return TokenResponse(reading: json)
    }

    /// The lifetime in seconds: the shorter of what the broker and the token say, of those that can be true.
    ///
    /// Deviation: Himmelblau has written nonsense. The claims of an access token are not for its client; its `exp` can
    /// only shorten what is believed.
    func lifetime(at now: Int64) -> Int64 {
        // Doubles, so that no time of theirs overflows.
        let own = (try? JSONWebToken(compact: accessToken))?.claims.roundedDown("exp").map { Double($0) }
        let possible = [own, expiresOn?.timeIntervalSince1970].compactMap(\.self).map { $0 - Double(now) }
        let shortest = possible.filter { $0 >= 1 && $0 <= Self.longestLifetime }.min()
        return shortest.map { Int64($0) } ?? Self.unknownLifetime
    }

    /// Checks that the access token is bound to the program's key. Brokers that do not know `popParams` ignore it, and
    /// what a broker says about its tokens is wrong at times; so the token itself must name the key.
    ///
    /// - Parameter binding: The key that the access token was requested for; `nil` for a bearer token.
    /// - SeeAlso: [RFC 7800 §3.4](https://www.rfc-editor.org/rfc/rfc7800#section-3.4)
    func check(_ binding: TokenBinding?, _ context: RequestContext) throws {
        guard let binding else { return }
        let confirmation = (try? JSONWebToken(compact: accessToken))?.claims.object("cnf")
        guard let keyID = confirmation?.string("kid"), WireText.areSame(keyID, binding.keyID) else {
            throw AuthenticationError(
                .unsupported,
                """
                The identity broker gave an access token that does not name the program's key (cnf), so it is not used as a \
                bound one. Update the broker, sign in without it, or use bearer tokens.
                """,
                correlationID: context.correlationID
            )
        }
    }

    /// The person in the tenant of the ID token, who is the same in the home tenant unless the person is a guest.
    private var personOfIDToken: String? {
        guard let claims = idToken.flatMap({ try? JSONWebToken(compact: $0) })?.claims,
            let person = claims.string("oid"), let tenant = claims.string("tid")
        else { return nil }
        return "\(person).\(tenant)"
    }

    /// Returns `client_info` for an identifier of the form `uid.utid`.
    private func clientInfo(_ homeAccountID: String?) -> String? {
        guard let parts = homeAccountID?.split(separator: ".", omittingEmptySubsequences: false), parts.count == 2
        else {
            return nil
        }
        let json = JSONObject([("uid", .string(String(parts[0]))), ("utid", .string(String(parts[1])))])
        return Base64URL.encode(json.serialized())
    }
}

extension Set<Scope> {
    /// The scopes that a broker is asked for. It adds those of OpenID Connect itself.
    ///
    /// - Throws: `.invalidArgument` for a scope that is none; `.unsupported` if none is left.
    func checkedForBroker() throws -> [String] {
        let scopes = try checked().filter { !ScopeRule.reserved.contains($0.lowercased()) }
        guard !scopes.isEmpty else {
            throw AuthenticationError(
                .unsupported,
                "An identity broker gives no token without a scope of an API, for example User.Read: request one."
            )
        }
        return scopes
    }
}
