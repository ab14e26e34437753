// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import IdentityClient
import Testing

@Suite struct AuthorityRecognitionTests {
    /// The forms of an authority address, each with its canonical address and partition.
    @Test(arguments: [
        (
            "https://login.microsoftonline.com/common", "https://login.microsoftonline.com/common/",
            "entra|login.microsoftonline.com"
        ),
        (
            "https://login.microsoftonline.com/Organizations/", "https://login.microsoftonline.com/organizations/",
            "entra|login.microsoftonline.com"
        ),
        (
            "https://login.microsoftonline.com/consumers/oauth2/v2.0/authorize?x=1",
            "https://login.microsoftonline.com/consumers/", "entra|login.microsoftonline.com"
        ),
        (
            "https://login.microsoftonline.com/Contoso.onmicrosoft.com",
            "https://login.microsoftonline.com/contoso.onmicrosoft.com/", "entra|login.microsoftonline.com"
        ),
        (
            "https://login.microsoftonline.com/F8CDEF31-A31E-4B4A-93E4-5F571E91255A",
            "https://login.microsoftonline.com/f8cdef31-a31e-4b4a-93e4-5f571e91255a/", "entra|login.microsoftonline.com"
        ),
        ("https://login.contoso.com/tenant", "https://login.contoso.com/tenant/", "entra|login.contoso.com"),
        (
            "https://login.microsoftonline.com:8443/tenant", "https://login.microsoftonline.com:8443/tenant/",
            "entra|login.microsoftonline.com:8443"
        ),
        ("http://localhost:5000/tenant", "http://localhost:5000/tenant/", "entra|localhost:5000"),
        (
            "https://fabrikam.b2clogin.com/tfp/Fabrikam.onmicrosoft.com/B2C_1_susi",
            "https://fabrikam.b2clogin.com/tfp/fabrikam.onmicrosoft.com/b2c_1_susi/",
            "b2c|fabrikam.b2clogin.com|fabrikam.onmicrosoft.com|b2c_1_susi"
        ),
        (
            "https://login.contoso.com/tfp/tenant/signin/extra", "https://login.contoso.com/tfp/tenant/signin/",
            "b2c|login.contoso.com|tenant|signin"
        ),
        (
            "https://fabrikam.b2clogin.com/fabrikam.onmicrosoft.com/SignIn/v2.0",
            "https://fabrikam.b2clogin.com/fabrikam.onmicrosoft.com/signin/",
            "b2c|fabrikam.b2clogin.com|fabrikam.onmicrosoft.com|signin"
        ),
        ("https://fabrikam.b2clogin.cn/t/p", "https://fabrikam.b2clogin.cn/t/p/", "b2c|fabrikam.b2clogin.cn|t|p"),
        (
            "https://login.contoso.com/tenant/B2C_1_susi", "https://login.contoso.com/tenant/b2c_1_susi/",
            "b2c|login.contoso.com|tenant|b2c_1_susi"
        ),
        (
            "https://login.microsoftonline.com/te/fabrikam?p=B2C_1_susi",
            "https://login.microsoftonline.com/te/?p=B2C_1_susi", "b2c|login.microsoftonline.com|te|b2c_1_susi"
        ),
        (
            "https://login.microsoftonline.com/fabrikam/v2.0?a=b&p=b2c_1%2Bx&c=d",
            "https://login.microsoftonline.com/fabrikam/?p=b2c_1%2Bx",
            "b2c|login.microsoftonline.com|fabrikam|b2c_1%2bx"
        ),
        (
            "https://contoso.ciamlogin.com", "https://contoso.ciamlogin.com/contoso.onmicrosoft.com/",
            "externalid|contoso.ciamlogin.com|contoso.onmicrosoft.com"
        ),
        (
            "https://contoso.ciamlogin.com/", "https://contoso.ciamlogin.com/contoso.onmicrosoft.com/",
            "externalid|contoso.ciamlogin.com|contoso.onmicrosoft.com"
        ),
        (
            "https://CONTOSO.CIAMLOGIN.COM/Tenant/v2.0", "https://contoso.ciamlogin.com/tenant/",
            "externalid|contoso.ciamlogin.com|tenant"
        ),
        ("https://sts.contoso.com/adfs", "https://sts.contoso.com/adfs/", "adfs|sts.contoso.com"),
        ("https://STS.contoso.com/ADFS/ls", "https://sts.contoso.com/adfs/", "adfs|sts.contoso.com"),
    ])
    func recognises(url: String, canonical: String, partition: String) throws {
        let authority = try Authority(url: url)
        #expect(authority.description == canonical)
        #expect(authority.partition == partition)
        #expect(try Authority(partition: partition).partition == partition)
        #expect(try Authority(url: canonical) == authority)
    }

    @Test(arguments: [
        "", "login.microsoftonline.com/common", "https://login.microsoftonline.com",
        "https://login.microsoftonline.com/",
        "http://login.microsoftonline.com/common", "https://user@login.microsoftonline.com/common",
        "https://login.microsoftonline.com/common#x", "https://login.microsoftonline.com/../common",
        "https://login.microsoftonline.com/./common", "https://login.microsoftonline.com/common/..",
        "https://login.microsoftonline.com/%2e%2e/common", "https://login.microsoftonline.com/ten%20ant",
        "https://login.microsoftonline.com/täst", "https://login.microsoftonline.com/a|b",
        "https://login.microsoftonline.com/a&b",
        "https://fabrikam.b2clogin.com/tenant", "https://fabrikam.b2clogin.com/", "https://h/tfp/tenant",
        "https://h/tfp",
        "https://h/?p=policy", "https://h/tenant?p=a|b", "https://h/tenant?p=..", "https://h/tenant?p=a+b",
    ])
    func refuses(url: String) {
        let error = #expect(throws: AuthenticationError.self) { try Authority(url: url) }
        #expect(error?.code == .invalidArgument)
    }

    /// protocol.md §1.3: all hosts of one cloud share the same credentials; clouds never share.
    @Test func aliasesShareOnePartition() throws {
        let clouds = [
            ["login.microsoftonline.com", "login.windows.net", "login.microsoft.com", "sts.windows.net"],
            ["login.partner.microsoftonline.cn", "login.chinacloudapi.cn"], ["login.microsoftonline.de"],
            ["login.microsoftonline.us", "login.usgovcloudapi.net"], ["login-us.microsoftonline.com"],
            ["login.sovcloud-identity.fr"], ["login.sovcloud-identity.de"], ["login.sovcloud-identity.sg"],
        ]
        var partitions: [String] = []
        for hosts in clouds {
            let found = Set(try hosts.map { try Authority.entra(.common, host: $0).partition })
            #expect(found == ["entra|" + hosts[0]])
            #expect(try Set(hosts.map { try Authority(url: "https://\($0.uppercased())/x").partition }) == found)
            #expect(hosts.allSatisfy(CloudInstances.isKnown))
            partitions += found
        }
        #expect(Set(partitions).count == clouds.count)
        #expect(!CloudInstances.isKnown("login.windows-ppe.net"))
        #expect(!CloudInstances.isKnown("evil.login.microsoftonline.com"))
    }

    @Test(arguments: [
        (Authority.Audience.common, "common"), (.organizations, "organizations"), (.consumers, "consumers"),
        (.tenant("Contoso.COM"), "contoso.com"),
    ])
    func namesTheAudience(audience: Authority.Audience, tenant: String) throws {
        let authority = try Authority.entra(audience)
        #expect(authority.tenant == tenant)
        #expect(try Authority(url: "https://login.microsoftonline.com/\(tenant)") == authority)
    }

    @Test(arguments: ["", "..", ".", "a/b", "a b", "a?b", "a#b", "ä", "a%2fb", "a|b"]) func refusesTenants(
        tenant: String
    ) {
        #expect(throws: AuthenticationError.self) { try Authority.entra(.tenant(tenant)) }
        #expect(throws: AuthenticationError.self) {
            try Authority.b2c(host: "x.b2clogin.com", tenant: tenant, policy: "p")
        }
        #expect(throws: AuthenticationError.self) {
            try Authority.b2c(host: "x.b2clogin.com", tenant: "t", policy: tenant)
        }
        #expect(throws: AuthenticationError.self) { try Authority.externalID(host: "x.ciamlogin.com", tenant: tenant) }
    }

    @Test(arguments: ["", "h/path", "h/", "h?query", "h#f", "user@h", "h h", "https://h", "h:0"]) func refusesHosts(
        host: String
    ) {
        #expect(throws: AuthenticationError.self) { try Authority.entra(.common, host: host) }
        #expect(throws: AuthenticationError.self) { try Authority.b2c(host: host, tenant: "t", policy: "p") }
        #expect(throws: AuthenticationError.self) { try Authority.externalID(host: host, tenant: "t") }
    }

    @Test func namesTheSameB2CAuthorityInTwoWays() throws {
        let named = try Authority.b2c(host: "Login.contoso.com", tenant: "T", policy: "SignIn")
        #expect(named.url == "https://login.contoso.com/t/signin/")
        #expect(
            try Authority.b2c(host: "x.b2clogin.com", tenant: "t", policy: "p")
                == Authority(url: "https://x.b2clogin.com/t/p")
        )
        #expect(try Authority.externalID(host: "x.ciamlogin.com") == Authority(url: "https://x.ciamlogin.com"))
    }

    /// RFC 8414 §2, OpenID Connect Discovery §4.3: an issuer is compared as it is spelled.
    @Test(arguments: [
        "https://Issuer.example/Realms/Demo", "https://h/x?tenant=A", "http://localhost:8080/r", "https://h:8443",
    ])
    func keepsTheSpellingOfAnIssuer(issuer: String) throws {
        let authority = try Authority.openIDConnect(issuer: issuer)
        #expect(authority.url == issuer)
        #expect(authority.partition == "oidc|" + issuer)
        #expect(try Authority(partition: "dpop|oidc|" + issuer) == authority)
        #expect(!authority.isMicrosoft)
    }

    @Test(arguments: ["", "http://h/", "h", "https://h/#x", "https://u@h/", "https://h/ä"])
    func refusesIssuersAndEndpoints(text: String) {
        #expect(throws: AuthenticationError.self) { try Authority.openIDConnect(issuer: text) }
        #expect(throws: AuthenticationError.self) {
            try Authority.openIDConnect(issuer: "https://h", deviceAuthorization: text)
        }
        let good = "https://h/x"
        for endpoints in [
            Authority.OAuth2Endpoints(authorization: text, token: good),
            Authority.OAuth2Endpoints(authorization: good, token: text),
            Authority.OAuth2Endpoints(authorization: good, token: good, deviceAuthorization: text),
            Authority.OAuth2Endpoints(authorization: good, token: good, revocation: text),
            Authority.OAuth2Endpoints(authorization: good, token: good, issuer: text),
        ] {
            #expect(throws: AuthenticationError.self) { try Authority.oauth2(endpoints) }
        }
    }
}
