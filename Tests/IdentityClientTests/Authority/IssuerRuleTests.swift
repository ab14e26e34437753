// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import OAuthWire
import Testing

@testable import IdentityClient

@Suite struct IssuerRuleTests {
    static let guid = Fixture.guid
    static let consumers = CloudInstances.consumersTenantID

    /// protocol.md §1.5: the issuers that a Microsoft configuration may name.
    @Test(arguments: [
        ("https://login.microsoftonline.com/common", "https://login.microsoftonline.com/{tenantid}/v2.0", true),
        ("https://login.microsoftonline.com/common", "https://login.windows.net/{tenant}/v2.0", true),
        ("https://login.microsoftonline.com/common", "https://sts.windows.net/{tenantid}/v2.0", true),
        ("https://login.microsoftonline.com/\(guid)", "https://login.microsoftonline.com/\(guid)/v2.0", true),
        ("https://login.microsoftonline.com/common", "https://login.microsoftonline.us/{tenantid}/v2.0", false),
        ("https://login.microsoftonline.com/common", "https://evil.example/{tenantid}/v2.0", false),
        (
            "https://login.microsoftonline.com/common",
            "https://login.microsoftonline.com.evil.example/{tenantid}/v2.0", false
        ),
        ("https://login.microsoftonline.com/common", "http://login.microsoftonline.com/{tenantid}/v2.0", false),
        ("https://login.microsoftonline.com/common", "https://login.microsoftonline.com:444/{tenantid}/v2.0", false),
        ("https://login.microsoftonline.com/common", "https://login.microsoftonline.com/{tenantid}/v1.0", false),
        ("https://login.microsoftonline.com/common", "https://login.microsoftonline.com/{tenantid}", false),
        ("https://login.microsoftonline.com/common", "https://login.microsoftonline.com/a/b/v2.0", false),
        ("https://login.microsoftonline.com/common", "", false),
        ("https://login.contoso.com/t", "https://login.contoso.com/t/v2.0", true),
        ("https://login.contoso.com/t", "https://login.microsoftonline.com/t/v2.0", false),
        ("https://f.b2clogin.com/t/p", "https://f.b2clogin.com/\(guid)/v2.0/", true),
        ("https://f.b2clogin.com/tfp/t/p", "https://f.b2clogin.com/tfp/\(guid)/p/v2.0/", true),
        ("https://f.b2clogin.com/t/p", "https://g.b2clogin.com/\(guid)/v2.0/", false),
        ("https://f.b2clogin.com/t/p", "http://f.b2clogin.com/\(guid)/v2.0/", false),
        ("https://c.ciamlogin.com", "https://c.ciamlogin.com/\(guid)/v2.0", true),
        ("https://c.ciamlogin.com", "https://\(guid).ciamlogin.com/\(guid)/v2.0", true),
        ("https://c.ciamlogin.com", "https://\(guid).ciamlogin.com:444/\(guid)/v2.0", false),
        ("https://c.ciamlogin.com", "https://ciamlogin.com.evil.example/x/v2.0", false),
        ("https://c.ciamlogin.com", "https://other.ciamlogin.com/\(guid)/v2.0", false),
        ("https://c.ciamlogin.com", "http://\(guid).ciamlogin.com/\(guid)/v2.0", false),
        ("https://c.ciamlogin.com", "https://\(guid).ciamlogin.com/\(guid)/v2.0/x", false),
        ("https://sts.h/adfs", "https://sts.h/adfs", true), ("https://sts.h/adfs", "https://other.h/adfs", false),
    ])
    func mayBePublished(authority: String, issuer: String, expected: Bool) throws {
        #expect(try Authority(url: authority).accepts(publishedIssuer: issuer) == expected)
    }

    /// The issuer of an External ID tenant has its own host, even if people see a custom domain.
    @Test(
        arguments: [
            (nil, "https://\(guid).ciamlogin.com/\(guid)/v2.0", true),
            (guid, "https://\(guid).ciamlogin.com/\(guid)/v2.0", true),
            (guid.uppercased(), "https://\(guid).ciamlogin.com/\(guid)/v2.0", true),
            (guid, "https://login.contoso.com/\(guid)/v2.0", true),
            (consumers, "https://\(guid).ciamlogin.com/\(guid)/v2.0", false),
            (guid, "https://\(guid).ciamlogin.com/\(consumers)/v2.0", false),
            (guid, "https://\(guid).ciamlogin.com.evil.example/\(guid)/v2.0", false),
            (guid, "https://login.evil.example/\(guid)/v2.0", false),
        ] as [(String?, String, Bool)]
    )
    func mayBePublishedOnACustomDomain(tenant: String?, issuer: String, expected: Bool) throws {
        let authority = try Authority.externalID(host: "login.contoso.com", tenant: tenant)
        #expect(authority.accepts(publishedIssuer: issuer) == expected)
    }

    /// OpenID Connect Discovery §4.3, protocol.md §11 item 3: slash, case, policy.
    @Test(arguments: [
        ("https://h/Realm", "https://h/Realm", true, true), ("https://h/Realm/", "https://h/Realm", false, true),
        ("https://h/Realm", "https://h/Realm/", false, true), ("https://h/Realm", "https://h/Realm//", false, true),
        ("https://h/Realm", "https://h/realm", false, true), ("https://h/Realm", "https://H/Realm", false, true),
        ("https://h", "https://h:443", false, true), ("https://h/a", "https://h/b", false, true),
        ("https://h/a", "https://h/a?x", false, true), ("https://h/a", "https://i/a", false, false),
        ("https://h/a", "https://h:444/a", false, false), ("https://h/a", "http://h/a", false, false),
        ("https://h/a", "https://h.evil.example/a", false, false), ("https://h/a", "", false, false),
    ])
    func comparesIssuers(configured: String, published: String, exact: Bool, sameHost: Bool) throws {
        #expect(try Authority.openIDConnect(issuer: configured).accepts(publishedIssuer: published) == exact)
        let lenient = try Authority.openIDConnect(issuer: configured, issuerPolicy: .sameHost)
        #expect(lenient.accepts(publishedIssuer: published) == sameHost)
        let listed = try Authority.openIDConnect(
            issuer: configured,
            issuerPolicy: .allowed(["https://other", "https://h/b"])
        )
        #expect(listed.accepts(publishedIssuer: published) == (published == "https://h/b"))
    }

    @Test func plainOAuthHasNoIssuer() throws {
        let authority = try Authority.oauth2(.init(authorization: "https://h/a", token: "https://h/t"))
        #expect(!authority.accepts(publishedIssuer: "https://h"))
        #expect(!authority.accepts(tokenIssuer: "https://h", tenantID: nil, published: "https://h"))
    }

    /// protocol.md §4, rule 2: allowed values of an ID token's `iss` and `tid`.
    @Test(
        arguments: [
            ("common", "https://login.microsoftonline.com/\(guid)/v2.0", guid, true),
            ("common", "https://login.windows.net/\(guid)/v2.0", guid, true),
            ("common", "https://login.microsoftonline.com/\(consumers)/v2.0", consumers, true),
            ("common", "https://login.microsoftonline.com/\(guid)/v2.0", consumers, false),
            ("common", "https://login.microsoftonline.com/\(guid)/v2.0", nil, false),
            ("common", "https://login.microsoftonline.com//v2.0", "", false),
            ("common", "https://login.microsoftonline.com/{tenantid}/v2.0", guid, false),
            ("common", "https://login.microsoftonline.us/\(guid)/v2.0", guid, false),
            ("common", "https://evil.example/\(guid)/v2.0", guid, false),
            ("common", "https://login.microsoftonline.com/\(guid)", guid, false),
            ("common", "https://login.microsoftonline.com/\(guid)/v2.0?x", guid, false),
            ("common", "https://login.microsoftonline.com//\(guid)/v2.0", guid, false),
            ("organizations", "https://login.microsoftonline.com/\(guid)/v2.0", guid, true),
            ("consumers", "https://login.microsoftonline.com/\(consumers)/v2.0", consumers, true),
            ("consumers", "https://login.microsoftonline.com/\(guid)/v2.0", guid, false),
            (guid, "https://login.microsoftonline.com/\(guid)/v2.0", guid, true),
            (guid, "https://login.microsoftonline.com/\(consumers)/v2.0", consumers, false),
            (guid.uppercased(), "https://login.microsoftonline.com/\(guid)/v2.0", guid, true),
            ("contoso.com", "https://login.microsoftonline.com/\(guid)/v2.0", guid, true),
        ] as [(String, String, String?, Bool)]
    )
    func mayStandInEntrasTokens(tenant: String, issuer: String, tid: String?, expected: Bool) throws {
        let authority = try Authority.entra(.tenant(tenant))
        let template = "https://login.microsoftonline.com/{tenantid}/v2.0"
        #expect(authority.accepts(tokenIssuer: issuer, tenantID: tid, published: template) == expected)
        #expect(authority.accepts(tokenIssuer: issuer, tenantID: tid, published: nil) == expected)
    }

    /// A tenant that is named by one of its domains. The published issuer contains its identifier.
    @Test(
        arguments: [
            (guid, guid, true), (guid, guid.uppercased(), true), (consumers, guid, false),
            ("{tenantid}", guid, true),
        ] as [(String, String, Bool)]
    )
    func bindsADomainToThePublishedTenant(published: String, tenantID: String, expected: Bool) throws {
        let authority = try Authority.entra(.tenant("contoso.com"))
        let host = "https://login.microsoftonline.com"
        let isAccepted = authority.accepts(
            tokenIssuer: "\(host)/\(tenantID)/v2.0",
            tenantID: tenantID,
            published: "\(host)/\(published)/v2.0"
        )
        #expect(isAccepted == expected)
    }

    @Test(arguments: ["https://f.b2clogin.com/t/p", "https://c.ciamlogin.com", "https://sts.h/adfs"])
    func tokensNameThePublishedIssuer(url: String) throws {
        let authority = try Authority(url: url)
        let host = authority.base.origin
        #expect(authority.accepts(tokenIssuer: host + "/a", tenantID: nil, published: host + "/a"))
        #expect(!authority.accepts(tokenIssuer: host + "/b", tenantID: nil, published: host + "/a"))
        #expect(authority.accepts(tokenIssuer: host + "/b", tenantID: nil, published: nil))
        #expect(!authority.accepts(tokenIssuer: "https://evil.example/b", tenantID: nil, published: nil))
    }

    @Test func anOpenIDProvidersTokensNameThePublishedIssuerExactly() throws {
        let authority = try Authority.openIDConnect(issuer: "https://h/a")
        #expect(authority.accepts(tokenIssuer: "https://h/a/", tenantID: nil, published: "https://h/a/"))
        #expect(!authority.accepts(tokenIssuer: "https://h/a", tenantID: nil, published: "https://h/a/"))
        #expect(!authority.accepts(tokenIssuer: "https://h/a", tenantID: nil, published: nil))
    }

    @Test(arguments: [
        ("https://login.microsoftonline.com/common", "https://login.windows.net/t", true),
        ("https://login.microsoftonline.com/common", "https://graph.microsoft.com/t", false),
        ("https://login.microsoftonline.com/common", "https://login.microsoftonline.us/t", false),
        ("https://login.microsoftonline.com/common", "http://login.microsoftonline.com/t", false),
        ("https://login.microsoftonline.com/common", "http://localhost/t", false),
        ("https://login.microsoftonline.com/common", "https://user@login.microsoftonline.com/t", false),
        ("https://f.b2clogin.com/t/p", "https://other.example/t", true),
        ("https://f.b2clogin.com/t/p", "http://f.b2clogin.com/t", false),
        ("http://localhost:5000/t", "http://localhost:5000/x", true),
        ("http://localhost:5000/t", "http://localhost:5001/x", false),
    ])
    func speaksTo(authority: String, endpoint: String, expected: Bool) throws {
        #expect(try Authority(url: authority).accepts(endpoint: endpoint) == expected)
    }

    @Test func speaksHTTPOnlyWhereTheIssuerDoes() throws {
        #expect(try Authority.openIDConnect(issuer: "http://localhost:1/r").accepts(endpoint: "http://localhost:2/t"))
        #expect(try !Authority.openIDConnect(issuer: "https://h/r").accepts(endpoint: "http://localhost:2/t"))
        #expect(try !Authority.openIDConnect(issuer: "https://h/r").accepts(endpoint: "https://127.1:2/t"))
        #expect(try Authority.openIDConnect(issuer: "https://h/r").accepts(endpoint: "https://elsewhere.example/t"))
    }

    @Test(arguments: [
        ("https://h/{tenantid}/x", "https://h/t/x"), ("https://h/{tenant}/{tenantid}", "https://h/t/t"),
        ("https://h/", "https://h/"),
        ("{tenant", "{tenant"), ("{{tenant}}", "{t}"),
    ])
    func fillsTemplates(text: String, expected: String) {
        #expect(Authority.fillingTemplate(text, tenant: "t") == expected)
    }

    @Test(.timeLimit(.minutes(1))) func fillsALongTemplateSoon() {
        let text = String(repeating: "{tenant}", count: 100_000)
        let begin = ContinuousClock.now
        #expect(Authority.fillingTemplate(text, tenant: "").isEmpty)
        #expect(ContinuousClock.now - begin < .seconds(10))
    }
}
