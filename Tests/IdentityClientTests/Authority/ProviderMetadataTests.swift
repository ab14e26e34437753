// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import IdentityTestSupport
import IdentityTesting
import OAuthWire
import Testing

@testable import IdentityClient

@Suite struct ProviderMetadataTests {
    private static func document(_ host: String, issuer: String, _ more: String = "") -> String {
        """
        {"issuer":"\(issuer)","authorization_endpoint":"\(host)/authorize","token_endpoint":"\(host)/token",\
        "jwks_uri":"\(host)/keys"\(more.isEmpty ? "" : "," + more)}
        """
    }

    @Test func believesWhatFits() throws {
        let more = """
            "end_session_endpoint":"https://h/out","revocation_endpoint":"https://h/revoke","scopes_supported":["openid"],\
            "device_authorization_endpoint":"https://h/device","response_modes_supported":["query"],\
            "code_challenge_methods_supported":["S256"],"authorization_response_iss_parameter_supported":true,\
            "pushed_authorization_request_endpoint":"https://h/par","require_pushed_authorization_requests":true
            """
        let json = try Fixture.json(Self.document("https://h", issuer: "https://h", more))
        let metadata = try ProviderMetadata(published: json, by: .openIDConnect(issuer: "https://h"))
        #expect(metadata.issuer == "https://h")
        #expect(metadata.authorizationEndpoint == "https://h/authorize" && metadata.tokenEndpoint == "https://h/token")
        #expect(metadata.endSessionEndpoint == "https://h/out" && metadata.revocationEndpoint == "https://h/revoke")
        #expect(metadata.deviceAuthorizationEndpoint == "https://h/device" && metadata.jwksURI == "https://h/keys")
        #expect(
            metadata.scopes == ["openid"] && metadata.responseModes == ["query"]
                && metadata.codeChallengeMethods == ["S256"]
        )
        #expect(metadata.namesIssuerInResponse)
        #expect(metadata.pushedAuthorizationRequestEndpoint == "https://h/par")
        #expect(metadata.requiresPushedAuthorizationRequests)
    }

    /// Nothing stands for an assumption; other methods stand against it.
    @Test(arguments: [
        (#""code_challenge_methods_supported":["S256"]"#, false, true), ("", false, false), ("", true, true),
        (#""code_challenge_methods_supported":["plain"]"#, true, false),
        (#""code_challenge_methods_supported":[]"#, true, false),
    ])
    func assumesMethodsOfPKCEWhereNoneArePublished(_ more: String, _ assumes: Bool, _ isTaken: Bool) throws {
        let authority = try Authority.oauth2(issuer: "https://h", assumesPKCE: assumes)
        let json = try Fixture.json(Self.document("https://h", issuer: "https://h", more))
        guard !isTaken else {
            #expect(try ProviderMetadata(published: json, by: authority).issuer == "https://h")
            return
        }
        let error = #expect(throws: AuthenticationError.self) { try ProviderMetadata(published: json, by: authority) }
        #expect(error?.code == .unsupported && error?.message.contains("assumesPKCE") == more.isEmpty)
    }

    @Test func takesTheDeviceEndpointThatTheProgramNamesWhereNoneIsPublished() throws {
        let named = try Authority.openIDConnect(issuer: "https://h", deviceAuthorization: "https://h/named")
        let silent = try Fixture.json(Self.document("https://h", issuer: "https://h"))
        #expect(try ProviderMetadata(published: silent, by: named).deviceAuthorizationEndpoint == "https://h/named")
        let more = #""device_authorization_endpoint":"https://h/device""#
        let published = try Fixture.json(Self.document("https://h", issuer: "https://h", more))
        let metadata = try ProviderMetadata(published: published, by: named)
        #expect(metadata.deviceAuthorizationEndpoint == "https://h/device")
    }

    @Test(arguments: [
        (document("https://h", issuer: "https://other"), AuthenticationError.Code.invalidResponse),
        (document("http://h", issuer: "https://h"), .untrustedAuthority),
        (document("http://localhost", issuer: "https://h"), .untrustedAuthority),
        (document("https://h", issuer: "https://h", #""revocation_endpoint":"http://h/r""#), .untrustedAuthority),
        (document("https://h", issuer: "https://h", #""end_session_endpoint":"ftp://h/r""#), .untrustedAuthority),
        (
            document("https://h", issuer: "https://h", #""device_authorization_endpoint":"/device""#),
            .untrustedAuthority
        ),
        (
            document("https://h", issuer: "https://h", #""pushed_authorization_request_endpoint":"http://h/par""#),
            .untrustedAuthority
        ),
        (document("https://h@evil", issuer: "https://h"), .untrustedAuthority),
        (#"{"issuer":"https://h","token_endpoint":"https://h/t"}"#, .unsupported),
        (#"{"issuer":"https://h","authorization_endpoint":"https://h/t"}"#, .unsupported),
        (#"{"authorization_endpoint":"https://h/t"}"#, .malformedResponse),
        (#"{"issuer":7}"#, .malformedResponse),
        (#"{"issuer":"https://h","authorization_endpoint":["https://h/t"]}"#, .malformedResponse),
    ])
    func refuses(text: String, code: AuthenticationError.Code) throws {
        let json = try Fixture.json(text)
        let error = #expect(throws: AuthenticationError.self) {
            try ProviderMetadata(published: json, by: .openIDConnect(issuer: "https://h"))
        }
        #expect(error?.code == code)
    }

    @Test func namesTheRequestAndTheEndpointThatIsNotTrusted() throws {
        let json = try Fixture.json(Self.document("http://h", issuer: "https://h"))
        let id = UUID()
        let error = #expect(throws: AuthenticationError.self) {
            try ProviderMetadata(published: json, by: .openIDConnect(issuer: "https://h"), correlationID: id)
        }
        #expect(error?.correlationID == id && error?.message.contains("'http://h/") == true)
    }

    @Test func showsAnotherIssuerWithoutWhatATerminalObeys() throws {
        let json = try Fixture.json(Self.document("https://h", issuer: #"https://other\u001b[2J\u202e\n"#))
        let error = #expect(throws: AuthenticationError.self) {
            try ProviderMetadata(published: json, by: .openIDConnect(issuer: "https://h"))
        }
        #expect(error?.message.contains("another issuer, 'https://other[2J '. Check the authority;") == true)
    }

    @Test(arguments: ["authorize", "token", "keys"]) func refusesForeignHostsForEntra(endpoint: String) throws {
        let host = "https://login.microsoftonline.com/common"
        let good = Self.document(host, issuer: "https://login.microsoftonline.com/{tenantid}/v2.0")
        #expect(throws: Never.self) { try ProviderMetadata(published: Fixture.json(good), by: .entra()) }
        let bad = good.replacing("\(host)/\(endpoint)", with: "https://login.microsoftonline.us/x")
        let error = #expect(throws: AuthenticationError.self) {
            try ProviderMetadata(published: Fixture.json(bad), by: .entra())
        }
        #expect(error?.code == .untrustedAuthority)
    }

    /// protocol.md §1.2, placeholders; §11 item 1, the policy.
    @Test func fillsTheTenantAndKeepsThePolicy() throws {
        let text = Self.document(
            "https://login.microsoftonline.com/{tenant}",
            issuer: "https://login.microsoftonline.com/{tenantid}/v2.0"
        )
        let entra = try ProviderMetadata(published: Fixture.json(text), by: .entra(.tenant("contoso.com")))
        #expect(entra.tokenEndpoint == "https://login.microsoftonline.com/contoso.com/token")
        let b2c = try ProviderMetadata(
            published: Fixture.json(
                Self.document("https://h/t", issuer: "https://h/x", #""end_session_endpoint":"https://h/out""#)
            ),
            by: Authority(url: "https://h/t?p=B2C_1%2Bx")
        )
        #expect(b2c.authorizationEndpoint == "https://h/t/authorize?p=B2C_1%2Bx")
        #expect(b2c.tokenEndpoint == "https://h/t/token?p=B2C_1%2Bx")
        #expect(b2c.endSessionEndpoint == "https://h/out?p=B2C_1%2Bx")
    }
}

@Suite(.timeLimit(.minutes(1))) struct AuthorityResolverTests {
    private func resolver(_ transport: ScriptedTransport, _ cache: any TokenCache, knownHosts: Set<String> = []) throws
        -> AuthorityResolver
    {
        let documents = DiscoveryCache(
            client: EndpointClient(transport: transport),
            cache: cache,
            group: try CacheGroup("group"),
            clock: StillClock()
        )
        return AuthorityResolver(documents: documents, knownHosts: knownHosts)
    }

    private static let good =
        #"{"issuer":"https://h","authorization_endpoint":"https://h/a","token_endpoint":"https://h/t","jwks_uri":"https://h/k"}"#

    /// protocol.md §11 item 2: a mismatch is never cached.
    @Test func asksAgainAfterAMismatch() async throws {
        let bad = Self.good.replacing(#""issuer":"https://h""#, with: #""issuer":"https://evil""#)
        let transport = ScriptedTransport([.answer(200, bad), .answer(200, bad), .answer(200, Self.good)])
        let cache = InMemoryTokenCache()
        let authority = try Authority.openIDConnect(issuer: "https://h")
        let resolver = try resolver(transport, cache)
        for _ in 0..<2 {
            let error = await #expect(throws: AuthenticationError.self) {
                try await resolver.metadata(for: authority, context: Fixture.context)
            }
            #expect(error?.code == .invalidResponse)
        }
        #expect(cache.recordCount == 0)
        #expect(try await resolver.metadata(for: authority, context: Fixture.context).tokenEndpoint == "https://h/t")
        // The correct configuration is kept, in memory and for the next process.
        _ = try await resolver.metadata(for: authority, context: Fixture.context)
        _ = try await self.resolver(transport, cache).metadata(for: authority, context: Fixture.context)
        #expect(transport.sentPaths.count == 3)
    }

    @Test func checksWhatAnotherProcessKept() async throws {
        let cache = InMemoryTokenCache()
        let group = try CacheGroup("group")
        let url = "https://h/.well-known/openid-configuration"
        let key = CacheKey(group: group, kind: .provider, name: Digest.hexadecimal(of: ["provider", url]))
        let transport = ScriptedTransport([.answer(200, Self.good), .answer(200, Self.good)])
        let forged = try Fixture.json(
            Self.good.replacing(#""token_endpoint":"https://h/t""#, with: #""token_endpoint":"http://evil/t""#)
        )
        for record in [
            ProviderDocument(json: forged, fetchedAt: Fixture.now).encoded(), CacheRecord(bytes: Array("{".utf8)),
        ] {
            #expect(try await cache.replace(cache.record(for: key), with: record, for: key))
            let metadata = try await resolver(transport, cache).metadata(
                for: .openIDConnect(issuer: "https://h"),
                context: Fixture.context
            )
            #expect(metadata.tokenEndpoint == "https://h/t")
        }
        #expect(transport.sentPaths.count == 2)
    }

    /// protocol.md §1.4, §11 item 7: the library asks about an unknown host, and refuses it without a certain answer.
    @Test(
        arguments: [
            .answer(400, #"{"error":"invalid_instance"}"#),
            .answer(200, #"{"tenant_discovery_endpoint":"https://x","metadata":[]}"#),
            .answer(200, "{}"), .failure(.networkTimedOut), .answer(503, ""), .answer(302, ""),
        ] as [ScriptedTransport.Step]
    )
    func failsClosedForAnUnknownHost(step: ScriptedTransport.Step) async throws {
        let transport = ScriptedTransport([step])
        let authority = try Authority.entra(.common, host: "login.evil.example")
        let resolver = try resolver(transport, InMemoryTokenCache())
        await #expect(throws: AuthenticationError.self) {
            try await resolver.metadata(for: authority, context: Fixture.context)
        }
        #expect(transport.sentPaths.count == 1 && transport.sentPaths[0].hasPrefix("/common/discovery/instance?"))
    }

    @Test func believesAnInstanceThatTheJudgeKnows() async throws {
        let instance = """
            {"tenant_discovery_endpoint":"https://x","metadata":[{"preferred_network":"login.new.example",\
            "preferred_cache":"login.new.example","aliases":["login.new.example"]}]}
            """
        let transport = ScriptedTransport([.answer(200, instance), .failure(.networkTimedOut)])
        let metadata = try await resolver(transport, InMemoryTokenCache()).metadata(
            for: .entra(.common, host: "login.new.example"),
            context: Fixture.context
        )
        #expect(metadata.tokenEndpoint == "https://login.new.example/common/oauth2/v2.0/token")
    }

    @Test func asksNobodyAboutAHostThatTheProgramVouchesFor() async throws {
        let transport = ScriptedTransport([.failure(.networkTimedOut)])
        let metadata = try await resolver(transport, InMemoryTokenCache(), knownHosts: ["login.mine.example"]).metadata(
            for: .entra(.common, host: "login.mine.example"),
            context: Fixture.context
        )
        #expect(metadata.issuer == nil)
        #expect(transport.sentPaths == ["/common/v2.0/.well-known/openid-configuration"])
    }

    /// protocol.md §11 item 7: known hosts work from the table while no server answers.
    @Test(arguments: [.failure(.networkTimedOut), .answer(503, ""), .answer(429, "")] as [ScriptedTransport.Step])
    func usesTheTemplatesWhileMicrosoftCannotBeAsked(step: ScriptedTransport.Step) async throws {
        let metadata = try await resolver(ScriptedTransport([step]), InMemoryTokenCache()).metadata(
            for: .entra(),
            context: Fixture.context
        )
        #expect(metadata == (try Authority.entra().templates))
        let error = await #expect(throws: AuthenticationError.self) {
            try await resolver(ScriptedTransport([step]), InMemoryTokenCache())
                .metadata(for: .openIDConnect(issuer: "https://h"), context: Fixture.context)
        }
        #expect(error.map { .network ~= $0.code || .serverUnavailable ~= $0.code } == true)
    }

    /// No browser opens at a guessed address, because the page would show only a connection error.
    @Test(arguments: [AuthenticationError.Code.nameNotResolved, .connectionFailed, .tlsFailed, .proxyFailed])
    func guessesNoEndpointsWhereThereIsNoWayToMicrosoft(code: AuthenticationError.Code) async throws {
        let error = await #expect(throws: AuthenticationError.self) {
            try await resolver(ScriptedTransport([.failure(code)]), InMemoryTokenCache())
                .metadata(for: .entra(), context: Fixture.context)
        }
        #expect(error?.code == code)
    }

    @Test func looksInBothPlaces() async throws {
        let transport = ScriptedTransport([
            .answer(404, ""), .answer(200, Self.good.replacing("https://h", with: "https://h/r")),
        ])
        let metadata = try await resolver(transport, InMemoryTokenCache())
            .metadata(for: .openIDConnect(issuer: "https://h/r"), context: Fixture.context)
        #expect(metadata.issuer == "https://h/r")
        #expect(
            transport.sentPaths == ["/r/.well-known/openid-configuration", "/.well-known/oauth-authorization-server/r"]
        )
    }

    @Test(arguments: [Int64.min, -1, 0, Fixture.now + 301, Int64.max]) func takesNoDocumentOfAnotherAge(
        fetchedAt: Int64
    ) throws {
        let record = ProviderDocument(json: try Fixture.json("{}"), fetchedAt: fetchedAt).encoded()
        let document = ProviderDocument(decoding: record)
        #expect(document?.isFresh(at: Fixture.now) != true)
        #expect(document?.isUsable(at: Fixture.now) != true)
    }

    @Test(
        arguments: [
            (0, true, true), (86_399, true, true), (86_400, false, true), (604_799, false, true),
            (604_800, false, false), (-300, true, true),
        ] as [(Int64, Bool, Bool)]
    )
    func keepsDocumentsForADay(age: Int64, fresh: Bool, usable: Bool) throws {
        let document = ProviderDocument(json: try Fixture.json("{}"), fetchedAt: Fixture.now - age)
        #expect(document.isFresh(at: Fixture.now) == fresh && document.isUsable(at: Fixture.now) == usable)
    }

    @Test(
        arguments: [
            (nil, 86_400), ("max-age=7200", 7200), ("private, Max-Age=7200, must-revalidate", 7200),
            ("max-age=60", 3600),
            ("max-age=\"7200\"", 7200), ("max-age=0", 3600), ("max-age=999999", 86_400), ("max-age=-1", 3600),
            ("no-store", 86_400), ("s-maxage=7200", 86_400), ("max-age=soon", 86_400),
            ("max-age=7200, max-age=9", 7200),
        ] as [(String?, Int64)]
    )
    func keepsADocumentAsLongAsTheProviderSays(header: String?, seconds: Int64) async throws {
        let answer = ScriptedTransport.Step.answer(200, Self.good, header.map { ["Cache-Control": $0] } ?? [:])
        let (transport, cache) = (ScriptedTransport([answer, answer]), InMemoryTokenCache())
        let authority = try Authority.openIDConnect(issuer: "https://h")
        // Each stands for another process, which knows only the contents of the cache.
        for (age, requests) in [(0, 1), (seconds - 1, 1), (seconds, 2)] {
            let documents = DiscoveryCache(
                client: EndpointClient(transport: transport),
                cache: cache,
                group: try CacheGroup("group"),
                clock: ManualClock(now: StillClock().now.addingTimeInterval(Double(age)))
            )
            let resolver = AuthorityResolver(documents: documents, knownHosts: [])
            _ = try await resolver.metadata(for: authority, context: Fixture.context)
            #expect(transport.sentPaths.count == requests, "after \(age) s")
        }
    }
}
