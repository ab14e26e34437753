// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

/// The `claims` parameter: requested claims, and the program's capabilities.
/// - SeeAlso: [OpenID Connect Core §5.5](https://openid.net/specs/openid-connect-core-1_0.html#ClaimsParameter)
package enum ClaimsParameterText {
    /// `claims` with the client's capabilities added (`cp1`: the client handles claims challenges).
    ///
    /// Without capabilities, the claims stay as written. With both, the values of `access_token.xms_cc.values` are
    /// merged.
    /// - Returns: `nil` if there is nothing to request.
    /// - Throws: `WireError` if the claims are not a JSON object, or have another value in the capabilities' place.
    package static func merging(claims: String?, capabilities: [String]) throws -> String? {
        guard let claims, !claims.isEmpty else {
            return capabilities.isEmpty ? nil : try text(adding(capabilities, to: JSONObject()))
        }
        guard let request = try? JSONObject(parsing: Array(claims.utf8)) else {  // the reason is of no use to anyone
            throw WireError.malformed("claims")
        }
        return capabilities.isEmpty ? claims : try text(adding(capabilities, to: request))
    }

    /// The values of which the ID token's `acr` must have one; `nil` if no `acr` is essential.
    ///
    /// An essential `acr` without values demands nothing: §5.5.1 forbids to refuse a sign-in because an essential claim is
    /// missing.
    /// - SeeAlso: [OpenID Connect Core §5.5.1.1](https://openid.net/specs/openid-connect-core-1_0.html#acrSemantics)
    package static func essentialACR(in claims: String?) -> [String]? {
        guard let claims, let request = try? JSONObject(parsing: Array(claims.utf8)),  // checked where it was merged
            let acr = request.object("id_token")?.object("acr"), acr.bool("essential") == true
        else { return nil }
        return acr.strings("values") ?? acr.string("value").map { [$0] }
    }

    private static func text(_ object: JSONObject) -> String { String(decoding: object.serialized(), as: UTF8.self) }

    private static func adding(_ capabilities: [String], to request: JSONObject) throws -> JSONObject {
        var request = request
        var tokenClaims = try member("access_token", of: request, path: "claims.access_token")
        var capability = try member("xms_cc", of: tokenClaims, path: "claims.access_token.xms_cc")
        guard capability["value"] == nil else { throw WireError.wrongType("claims.access_token.xms_cc") }
        var values: [String] = []
        if let present = capability["values"] {
            guard let strings = capability.strings("values"), !present.isNull else {
                throw WireError.wrongType("claims.access_token.xms_cc.values")
            }
            values = strings
        }
        for value in capabilities where !values.contains(value) { values.append(value) }
        capability["values"] = .strings(values)
        tokenClaims["xms_cc"] = .object(capability)
        request["access_token"] = .object(tokenClaims)
        return request
    }

    /// The object in a member; an empty object if the member is absent or `null`, which requests the claim without
    /// details.
    private static func member(_ name: String, of object: JSONObject, path: String) throws -> JSONObject {
        switch object[name] {
        case nil, .null: return JSONObject()
        case .object(let member): return member
        default: throw WireError.wrongType(path)
        }
    }
}
