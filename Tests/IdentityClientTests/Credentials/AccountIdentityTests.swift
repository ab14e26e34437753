// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import OAuthWire
import Testing

@testable import IdentityClient

@Suite struct AccountIdentityTests {
    private func identity(_ url: String, _ info: (String, String)?, _ subject: String? = "sub") throws
        -> AccountIdentity?
    {
        AccountIdentity(
            authority: try Authority(url: url),
            clientInfo: info.map { ClientInfo(uid: $0.0, utid: $0.1) },
            issuer: "https://h/v2.0",
            subject: subject
        )
    }

    /// msal-cache.md §2.1, §2.2
    @Test(arguments: [
        ("https://login.microsoftonline.com/common", "uid.utid"), ("https://c.ciamlogin.com", "uid.utid"),
        ("https://f.b2clogin.com/t/p", "uid.utid"),
        ("https://sts.h/adfs", "https://h/v2.0|sub"),
    ])
    func names(url: String, account: String) throws {
        let identity = try #require(try identity(url, ("UID", "Utid")))
        #expect(identity.accountID.rawValue == account && identity.homeAccountID == account)
    }

    /// One B2C person is one account under all policies; `homeAccountID` says which policy.
    @Test func aB2CPersonIsOneUnderAllPolicies() throws {
        let first = try #require(try identity("https://f.b2clogin.com/t/B2C_1_susi", ("oid-B2C_1_SUSI", "t")))
        let second = try #require(try identity("https://f.b2clogin.com/t/b2c_1_edit", ("oid-b2c_1_edit", "t")))
        #expect(first.accountID.rawValue == "oid.t" && second.accountID == first.accountID)
        #expect(first.homeAccountID == "oid-b2c_1_susi.t" && second.homeAccountID == "oid-b2c_1_edit.t")
        #expect(
            try identity("https://f.b2clogin.com/t/other", ("oid-b2c_1_susi", "t"))?.accountID.rawValue
                == "oid-b2c_1_susi.t"
        )
        #expect(
            try identity("https://login.microsoftonline.com/t", ("oid-b2c_1_susi", "t"))?.accountID.rawValue
                == "oid-b2c_1_susi.t"
        )
    }

    @Test func fallsBackToTheSubject() throws {
        let url = "https://login.microsoftonline.com/common"
        #expect(try identity(url, nil)?.accountID.rawValue == "https://h/v2.0|sub")
        #expect(try identity(url, ("", "t"))?.accountID.rawValue == "https://h/v2.0|sub")
        #expect(try identity(url, ("u", ""))?.accountID.rawValue == "u.u")
        #expect(try identity(url, nil, nil) == nil)
        #expect(try identity(url, nil, "") == nil)
        #expect(try identity("https://sts.h/adfs", ("u", "t"), nil) == nil)
    }

    /// Never empty and never ambiguous: two people never share an identifier.
    @Test func twoPeopleAreNeverEqual() throws {
        let url = "https://login.microsoftonline.com/common"
        let infos = ["a", "b", "a.b", "b.c", "a|b", "|", "."].flatMap { uid in
            ["a", "c", "b.c", "x|y"].map { (uid, $0) }
        }
        var seen: [String: (String, String)] = [:]
        for info in infos {
            guard let id = try identity(url, info, "sub-\(info)")?.accountID.rawValue else { continue }
            #expect(!id.isEmpty)
            #expect(seen.updateValue(info, forKey: id) == nil, "\(info)")
        }
        let authority = try Authority.openIDConnect(issuer: "https://h")
        let ids = ["a", "A", "a ", "a|b", "b"].compactMap {
            AccountIdentity(authority: authority, clientInfo: nil, issuer: "https://h", subject: $0)?.accountID
        }
        #expect(Set(ids).count == 5)
        let anonymous = ["1", "2"].map { AccountIdentity(anonymousAt: authority, nonce: $0).accountID }
        #expect(anonymous[0] != anonymous[1])
    }

    @Test(
        arguments: [("u.t", "t"), ("u.t.x", "t.x"), ("u", nil), ("https://h|a.b", nil), ("", nil)]
            as [(String, String?)]
    )
    func knowsTheHomeTenant(id: String, tenant: String?) {
        #expect(Account.ID(rawValue: id).homeTenant == tenant)
    }
}
