// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import OAuthWire
import Testing

/// Broken inputs lead to errors, never to a crash. Accepted inputs can be written and read again.
@Suite struct MutationTests {
    private static let seeds = [
        #"{"access_token":"a","token_type":"Bearer","expires_in":"3600","scope":"a b","foci":"1"}"#,
        #"{"error":"invalid_grant","error_codes":[1,"2"],"error_description":"é\ud83d\ude00\n","claims":{"a":[1.5e3]}}"#,
        #"{"iss":"i","sub":"s","aud":["a"],"exp":1.5,"at_hash":"x","nested":[[{"a":{}}]],"t":true,"n":null}"#,
        #"{"request_uri":"urn:ietf:params:oauth:request_uri:a","expires_in":"60"}"#,
        #"{"keys":[{"kty":"EC","crv":"P-256","x":"AA","y":"AA"},{"kty":"RSA","n":"AQAB","e":"AQAB"}]}"#,
    ]

    private func mutate(_ bytes: [UInt8], _ random: inout SeededGenerator) -> [UInt8] {
        var bytes = bytes
        for _ in 0..<Int.random(in: 1...4, using: &random) {
            let index = Int.random(in: 0...bytes.count, using: &random)
            switch Int.random(in: 0..<5, using: &random) {
            case 0: bytes.insert(UInt8.random(in: 0...255, using: &random), at: index)
            case 1 where index < bytes.count: bytes.remove(at: index)
            case 2 where index < bytes.count: bytes[index] ^= 1 << UInt8.random(in: 0...7, using: &random)
            case 3: bytes = Array(bytes[..<index])
            default:
                let end = min(bytes.count, index + Int.random(in: 0...8, using: &random))
                bytes.insert(contentsOf: bytes[index..<end], at: index)
            }
        }
        return bytes
    }

    @Test(arguments: seeds.indices)
    func messagesSurviveMutation(seed: Int) throws {
        var random = SeededGenerator(state: UInt64(seed))
        let source = Array(Self.seeds[seed].utf8)
        var accepted = 0
        for _ in 0..<3_000 {
            guard let object = try? JSONObject(parsing: mutate(source, &random)) else { continue }
            accepted += 1
            #expect(try JSONObject(parsing: object.serialized()) == object)
            _ = try? TokenResponse(object)
            _ = ErrorResponse(object)
            _ = try? DeviceAuthorizationResponse(object)
            _ = try? PushedAuthorizationResponse(object)
            _ = try? DiscoveryDocument(object)
            _ = try? InstanceDiscoveryResponse(object)
            _ = try? JSONWebKeySet(object)
            _ = try? IDTokenClaims(object).atHashMatches(accessToken: "a", algorithm: .rs256)
        }
        #expect(accepted > 0 && accepted < 3_000)
    }

    @Test func textsSurviveMutation() throws {
        var random = SeededGenerator(state: 99)
        let texts = [
            SpecificationExamples.es256Token, "code=a%20b&state=s&iss=https%3A%2F%2Fh&error_codes=1,2",
            "Sun, 06 Nov 1994 08:49:37 GMT", "Sunday, 06-Nov-94 08:49:37 GMT", "Sun Nov  6 08:49:37 1994", "120",
            #"{"access_token":{"xms_cc":{"values":["cp0"]}}}"#,
        ]
        let keys = try keySet(json(SpecificationExamples.p256Key))
        let original = try JSONWebToken(compact: texts[0])
        for text in texts {
            for _ in 0..<1_000 {
                let mutated = String(decoding: mutate(Array(text.utf8), &random), as: UTF8.self)
                if let token = try? JSONWebToken(compact: mutated), (try? keys.verify(token)) != nil {
                    #expect(token.signingInput == original.signingInput && token.signature == original.signature)
                }
                _ = try? AuthorizationResponse.parse(query: FormURLEncoded.decode(mutated))
                if let wait = RetryAfter.seconds(mutated, now: 784_111_777) { #expect((0...3_600).contains(wait)) }
                _ = HTTPDate.parse(mutated)
                _ = ClientInfo.parse(mutated)
                _ = try? ClaimsParameterText.merging(claims: mutated, capabilities: ["cp1"])
                if let bytes = Base64URL.decode(mutated) { #expect(Base64URL.encode(bytes) == mutated) }
            }
        }
    }
}
