// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import OAuthWire

// The identity of the provider and its people, in the claims of its kind.
extension ProviderState {
    static let b2cTenantID = "b2cb2cb2-0000-4000-8000-00000000b2c0"
    static let consumersTenantID = "9188040d-6c67-4c5b-b112-36a304b66dad"

    /// Returns the issuer in the published configuration. For several tenants, Entra's is a template.
    func issuer(of address: ProviderAddress) -> String {
        switch address.form {
        case .plain(let path): address.origin + path
        case .entra("common"), .entra("organizations"): address.origin + "/{tenantid}/v2.0"
        case .entra(let tenant): "\(address.origin)/\(tenantID(forPath: tenant) ?? tenant)/v2.0"
        case .externalID: "https://\(ownTenantID).ciamlogin.com/\(ownTenantID)/v2.0"
        case .b2c, .b2cQuery: "\(address.origin)/\(Self.b2cTenantID)/v2.0/"
        case .b2cTfp(_, let policy): "\(address.origin)/tfp/\(Self.b2cTenantID)/\(policy)/v2.0/"
        case .adfs: address.origin + "/adfs"
        }
    }

    /// Returns the issuer that a token names.
    func tokenIssuer(of address: ProviderAddress, for person: Person) -> String {
        guard case .entra = address.form else { return issuer(of: address) }
        return "\(address.origin)/\(tenantID(at: address, for: person))/v2.0"
    }

    /// `tid`: the tenant that issues the token.
    func tenantID(at address: ProviderAddress, for person: Person) -> String {
        guard case .entra(let tenant) = address.form else { return ownTenantID }
        return tenantID(forPath: tenant) ?? homeTenantID(of: person)
    }

    func homeTenantID(of person: Person) -> String {
        person.homeTenantID ?? ownTenantID
    }

    private var ownTenantID: String {
        switch profile {
        case .entra(let tenantID), .externalID(let tenantID): tenantID.lowercased()
        case .b2c, .openIDConnect, .adfs: Self.b2cTenantID
        }
    }

    /// Returns whether the path names an existing tenant or policy.
    func serves(_ address: ProviderAddress) -> Bool {
        switch (profile, address.form) {
        case (.entra(let own), .entra(let tenant)):
            ["common", "organizations", "consumers", own.lowercased()].contains(tenant) || tenant.contains(".")
                || accounts.contains { $0.person.homeTenantID?.lowercased() == tenant }
        case (.externalID(let own), .externalID(let tenant)):
            tenant == own.lowercased() || tenant.hasSuffix(".onmicrosoft.com")
        case (.b2c(let own, let policies), .b2c(let tenant, let policy)),
            (.b2c(let own, let policies), .b2cTfp(let tenant, let policy)),
            (.b2c(let own, let policies), .b2cQuery(let tenant, let policy)):
            (tenant == own.lowercased() || tenant == Self.b2cTenantID)
                && policies.contains { $0.lowercased() == policy }
        default: true
        }
    }

    /// Returns the claims that identify the person.
    func personClaims(_ person: Person, at address: ProviderAddress, scopes: [String]) -> [(String, JSONValue)] {
        let name = ("name", JSONValue.string(person.name))
        switch profile {
        case .openIDConnect:
            var claims: [(String, JSONValue)] = []
            if scopes.contains("profile") { claims += [name, ("preferred_username", .string(person.username))] }
            if scopes.contains("email") {
                claims += [("email", .string(person.username)), ("email_verified", .bool(true))]
            }
            return claims
        case .entra, .externalID:
            return [
                name, ("preferred_username", .string(person.username)), ("oid", .string(person.objectID)),
                ("tid", .string(tenantID(at: address, for: person))), ("ver", .string("2.0")),
            ]
        case .b2c:
            return [
                name, ("oid", .string(person.objectID)), ("emails", .strings([person.username])),
                ("tfp", .string(address.policy ?? "")), ("ver", .string("1.0")),
            ]
        case .adfs:
            return [("upn", .string(person.username)), ("unique_name", .string(person.name))]
        }
    }

    /// `client_info`: the person in the home tenant; B2C adds the policy to the identifier.
    func clientInfo(_ person: Person, at address: ProviderAddress) -> String {
        let uid = address.policy.map { "\(person.objectID)-\($0)" } ?? person.objectID
        let info = JSONObject([("uid", .string(uid)), ("utid", .string(homeTenantID(of: person)))])
        return Base64URL.encode(info.serialized())
    }

    private func tenantID(forPath tenant: String) -> String? {
        switch tenant {
        case "common", "organizations": return nil
        case "consumers": return Self.consumersTenantID
        default:
            guard tenant.contains("."), case .entra(let own) = profile else { return tenant }
            return own.lowercased()
        }
    }
}
