// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import OAuthWire
import Testing

@testable import IdentityClient

@Suite struct AuthorityAddressesTests {
    /// protocol.md §1.2
    @Test(arguments: [
        (
            "https://login.microsoftonline.com/common",
            "https://login.microsoftonline.com/common/v2.0/.well-known/openid-configuration"
        ),
        ("https://f.b2clogin.com/t/p", "https://f.b2clogin.com/t/p/v2.0/.well-known/openid-configuration"),
        ("https://f.b2clogin.com/tfp/t/p", "https://f.b2clogin.com/tfp/t/p/v2.0/.well-known/openid-configuration"),
        ("https://h/t/x?p=B2C_1%2Bx", "https://h/t/v2.0/.well-known/openid-configuration?p=B2C_1%2Bx"),
        ("https://c.ciamlogin.com", "https://c.ciamlogin.com/c.onmicrosoft.com/v2.0/.well-known/openid-configuration"),
        ("https://sts.h/adfs", "https://sts.h/adfs/.well-known/openid-configuration"),
    ])
    func publishesMicrosoftsConfigurationAt(url: String, expected: String) throws {
        #expect(try Authority(url: url).configurationURLs == [expected])
    }

    /// OpenID Connect Discovery §4.1 appends, RFC 8414 §3.1 inserts.
    @Test(arguments: [
        ("https://h", "https://h/.well-known/openid-configuration", "https://h/.well-known/oauth-authorization-server"),
        (
            "https://h/", "https://h/.well-known/openid-configuration",
            "https://h/.well-known/oauth-authorization-server"
        ),
        (
            "https://h/A/b", "https://h/A/b/.well-known/openid-configuration",
            "https://h/.well-known/oauth-authorization-server/A/b"
        ),
        (
            "https://h/a/", "https://h/a/.well-known/openid-configuration",
            "https://h/.well-known/oauth-authorization-server/a"
        ),
        (
            "https://h:8443/a?t=x", "https://h:8443/a/.well-known/openid-configuration?t=x",
            "https://h:8443/.well-known/oauth-authorization-server/a?t=x"
        ),
    ])
    func publishesTheConfigurationAt(issuer: String, first: String, second: String) throws {
        #expect(try Authority.openIDConnect(issuer: issuer).configurationURLs == [first, second])
    }

    @Test func knowsTheEndpointsFromTheForm() throws {
        let entra = try #require(try Authority(url: "https://login.microsoftonline.us/t").templates)
        #expect(entra.authorizationEndpoint == "https://login.microsoftonline.us/t/oauth2/v2.0/authorize")
        #expect(entra.tokenEndpoint == "https://login.microsoftonline.us/t/oauth2/v2.0/token")
        #expect(entra.deviceAuthorizationEndpoint == "https://login.microsoftonline.us/t/oauth2/v2.0/devicecode")
        #expect(entra.endSessionEndpoint == "https://login.microsoftonline.us/t/oauth2/v2.0/logout")
        #expect(entra.jwksURI == "https://login.microsoftonline.us/t/discovery/v2.0/keys")
        let adfs = try #require(try Authority(url: "https://sts.h/adfs").templates)
        #expect(adfs.authorizationEndpoint == "https://sts.h/adfs/oauth2/authorize")
        #expect(adfs.tokenEndpoint == "https://sts.h/adfs/oauth2/token")
        #expect(adfs.jwksURI == "https://sts.h/adfs/discovery/keys")
        let bare = try #require(try Authority(url: "https://f.b2clogin.com/tfp/t/p").templates)
        #expect(bare.tokenEndpoint == "https://f.b2clogin.com/tfp/t/p/oauth2/v2.0/token")
        #expect(try Authority.openIDConnect(issuer: "https://h").templates == nil)
    }

    /// protocol.md §1.1, §11 item 1: every endpoint keeps the policy in its query, with unchanged escaping.
    @Test func keepsThePolicyOnEveryEndpoint() throws {
        let templates = try #require(try Authority(url: "https://h/t/x?p=B2C_1%2Bx").templates)
        #expect(templates.authorizationEndpoint == "https://h/t/oauth2/v2.0/authorize?p=B2C_1%2Bx")
        #expect(templates.tokenEndpoint == "https://h/t/oauth2/v2.0/token?p=B2C_1%2Bx")
        #expect(templates.endSessionEndpoint == "https://h/t/oauth2/v2.0/logout?p=B2C_1%2Bx")
        #expect(templates.jwksURI == "https://h/t/discovery/v2.0/keys?p=B2C_1%2Bx")
        let full = try FormURLEncoded.appending([("state", "s")], to: templates.authorizationEndpoint)
        #expect(full == "https://h/t/oauth2/v2.0/authorize?p=B2C_1%2Bx&state=s")
    }

    @Test func takesTheEndpointsThatWereGiven() throws {
        let authority = try Authority.oauth2(
            .init(authorization: "https://h/a", token: "https://h/t", revocation: "https://h/r")
        )
        let templates = try #require(authority.templates)
        #expect(templates.tokenEndpoint == "https://h/t" && templates.revocationEndpoint == "https://h/r")
        #expect(authority.configurationURLs.isEmpty && authority.partition == "oauth2|https://h/t")
        #expect(try Authority(partition: authority.partition).partition == authority.partition)
    }

    /// protocol.md §1.1, tenant replacement: the home tenant replaces only `common` and `organizations`.
    @Test(
        arguments: [
            ("common", "uid.home", "home", "home"), ("organizations", "uid.home", "home", "home"),
            ("common", "uid.9188040d-6c67-4c5b-b112-36a304b66dad", "9188040d-6c67-4c5b-b112-36a304b66dad", "consumers"),
            ("consumers", "uid.home", "9188040d-6c67-4c5b-b112-36a304b66dad", "consumers"),
            ("contoso.com", "uid.home", "contoso.com", "contoso.com"),
            (
                "9188040d-6c67-4c5b-b112-36a304b66dad", "uid.home", "9188040d-6c67-4c5b-b112-36a304b66dad",
                "9188040d-6c67-4c5b-b112-36a304b66dad"
            ),
            ("common", "https://h|a.b", nil, "common"), ("common", "nodot", nil, "common"),
        ] as [(String, String, String?, String)]
    )
    func meansTheAccountsTenant(tenant: String, account: String, effective: String?, sentTo: String) throws {
        let authority = try Authority.entra(.tenant(tenant))
        #expect(authority.effectiveTenant(for: Account.ID(rawValue: account)) == effective)
        #expect(authority.resolved(for: Account.ID(rawValue: account)).tenant == sentTo)
    }

    @Test func replacesTheTenantOfEntraAlone() throws {
        #expect(try Authority.entra().replacingTenant(with: "t").url == "https://login.microsoftonline.com/t/")
        let others = ["https://f.b2clogin.com/t/p", "https://c.ciamlogin.com", "https://sts.h/adfs"].map {
            try? Authority(url: $0)
        }
        for other in others {
            let other = try #require(other)
            #expect(other.replacingTenant(with: "x") == other)
            #expect(other.effectiveTenant(for: Account.ID(rawValue: "uid.home")) == nil)
        }
    }

    @Test(arguments: [
        ("https://login.microsoftonline.com/common", "https://login.windows.net/tenant", true),
        ("https://login.microsoftonline.com/common", "https://login.microsoftonline.us/common", false),
        ("https://login.microsoftonline.com/common", "https://sts.h/adfs", false),
        ("https://f.b2clogin.com/t/p", "https://f.b2clogin.com/t/q", true),
        ("https://f.b2clogin.com/t/p", "https://f.b2clogin.com/tfp/t/q", true),
        ("https://f.b2clogin.com/t/p", "https://f.b2clogin.com/u/p", false),
        ("https://f.b2clogin.com/t/p", "https://g.b2clogin.com/t/p", false),
        ("https://sts.h/adfs", "https://sts.h/adfs", true), ("https://sts.h/adfs", "https://sts.i/adfs", false),
        ("https://c.ciamlogin.com", "https://c.ciamlogin.com/t", false),
    ])
    func fits(configured: String, called: String, expected: Bool) throws {
        let configured = try Authority(url: configured)
        let called = try Authority(url: called)
        let fits: Bool
        do {
            try called.checkFits(configured)
            fits = true
        } catch let error as AuthenticationError {
            fits = false
            #expect(error.code == .invalidArgument)
        }
        #expect(fits == expected)
    }

    /// The accounts of all policies of one B2C tenant are listed together, and those of other authorities separately.
    @Test func listsTheAccountsOfAllPoliciesTogether() throws {
        let first = try Authority(url: "https://f.b2clogin.com/t/p").accountScope
        #expect(try Authority(url: "https://f.b2clogin.com/t/q").accountScope == first)
        #expect(try Authority(url: "https://f.b2clogin.com/t/x?p=r").accountScope == first)
        #expect(try Authority(url: "https://f.b2clogin.com/u/p").accountScope != first)
        let issuers = ["https://h/a|b", "https://h/a|c"].map { try? Authority.openIDConnect(issuer: $0).accountScope }
        #expect(issuers[0] != issuers[1])
    }

    /// B2C expects its policy in the query of its endpoints, but publishes them without it.
    @Test(arguments: [
        ("https://h/token", "https://h/token?p=B2C_1_x"), ("https://h/token?a=b", "https://h/token?a=b&p=B2C_1_x"),
        ("https://h/token?p=other", "https://h/token?p=other"),
        ("https://h/token?ap=1", "https://h/token?ap=1&p=B2C_1_x"),
    ])
    func keepsThePolicyOn(endpoint: String, expected: String) throws {
        #expect(try Authority(url: "https://h/t?p=B2C_1_x").keepingPolicy(on: endpoint) == expected)
        #expect(try Authority(url: "https://h/t").keepingPolicy(on: endpoint) == endpoint)
    }
}
