// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Testing

@testable import IdentityClient

@Suite struct KeySetAddressTests {
    private func metadata(keys: String?) -> ProviderMetadata {
        ProviderMetadata(authorizationEndpoint: "https://h/a", tokenEndpoint: "https://h/t", jwksURI: keys)
    }

    @Test(arguments: [
        ("https://h/keys", "https://h/keys?appid=a%26b"), ("https://h/keys?p=x", "https://h/keys?p=x&appid=a%26b"),
    ])
    func entraHasASetOfTheApplicationsOwn(published: String, own: String) throws {
        for authority in [try Authority.entra(.organizations), try .externalID(host: "contoso.ciamlogin.com")] {
            #expect(metadata(keys: published).jwksURLs(for: "a&b", of: authority) == [published, own])
        }
    }

    @Test func othersHaveOneSet() throws {
        let others = [
            try Authority.openIDConnect(issuer: "https://h"), try .adfs(host: "h"),
            try .b2c(host: "contoso.b2clogin.com", tenant: "contoso.onmicrosoft.com", policy: "b2c_1_susi"),
        ]
        for authority in others {
            #expect(metadata(keys: "https://h/keys").jwksURLs(for: "client", of: authority) == ["https://h/keys"])
        }
    }

    @Test func thereIsNoneWhereNoKeysArePublished() throws {
        #expect(metadata(keys: nil).jwksURLs(for: "client", of: try .entra(.organizations)).isEmpty)
    }
}
