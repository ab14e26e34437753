// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Testing

@testable import IdentityClient

@Suite struct KeyPlaceTests {
    private func metadata(keys: String?) -> ProviderMetadata {
        ProviderMetadata(authorizationEndpoint: "https://h/a", tokenEndpoint: "https://h/t", jwksURI: keys)
    }

    @Test(arguments: [
        ("https://h/keys", "https://h/keys?appid=a%26b"), ("https://h/keys?p=x", "https://h/keys?p=x&appid=a%26b"),
    ])
    func entraHasASetOfTheApplicationsOwn(published: String, own: String) throws {
        for authority in [try Authority.entra(.organizations), try .externalID(host: "contoso.ciamlogin.com")] {
            let places = metadata(keys: published).jwksLocations(for: "a&b", of: authority)
            #expect(places.map(\.url) == [published, own, own, published])
            #expect(places.map(\.isRefetch) == [false, false, true, true])
        }
    }

    @Test func othersHaveOneSet() throws {
        let others = [
            try Authority.openIDConnect(issuer: "https://h"), try .adfs(host: "h"),
            try .b2c(host: "contoso.b2clogin.com", tenant: "contoso.onmicrosoft.com", policy: "b2c_1_susi"),
        ]
        for authority in others {
            let places = metadata(keys: "https://h/keys").jwksLocations(for: "client", of: authority)
            #expect(
                places == [JWKSLocation(url: "https://h/keys"), JWKSLocation(url: "https://h/keys", isRefetch: true)]
            )
        }
    }

    @Test func thereIsNoneWhereNoKeysArePublished() throws {
        #expect(metadata(keys: nil).jwksLocations(for: "client", of: try .entra(.organizations)).isEmpty)
    }
}
