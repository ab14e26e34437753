// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import DesktopKit
import Foundation
import IdentityBroker
import IdentityClient
import IdentityKeyring
import Testing

@Suite struct ProgramOptionsTests {
    @Test func usesTheStandInUnlessTold() throws {
        let options = try ProgramOptions.parse([])
        #expect(try options.registration() == nil)
        #expect(try options.cacheGroup == nil)
        #expect(options.cache == nil)
    }

    @Test func namesARegistration() throws {
        let options = try ProgramOptions.parse([
            "--client-id", "abc", "--authority", "https://login.microsoftonline.com/common",
        ])
        #expect(try options.registration() == Registration(clientID: "abc", authority: try .entra(.common)))
    }

    @Test func takesTheProviderBeforeThatOfTheSettings() throws {
        let redirectURI = try RedirectURI.loopback(ports: 8400...8400)
        let settings = Registration(clientID: "s", authority: try .entra(.common), redirectURI: redirectURI)
        let named = try ProgramOptions.parse(["--authority", "https://login.microsoftonline.com/organizations"])
        let expected = Registration(clientID: "s", authority: try .entra(.organizations), redirectURI: redirectURI)
        #expect(try named.registration(else: settings) == expected)
        #expect(try ProgramOptions.parse([]).registration(else: settings) == settings)
    }

    @Test func namesAnyOtherProviderByItsIssuer() throws {
        let options = try ProgramOptions.parse(["--client-id", "abc", "--issuer", "https://id.example.com"])
        let authority = try Authority.openIDConnect(issuer: "https://id.example.com")
        #expect(try options.registration() == Registration(clientID: "abc", authority: authority))
    }

    @Test(arguments: [
        ["--client-id", "abc", "--issuer", "id.example.com"],
        [
            "--client-id", "abc", "--issuer", "https://a.example", "--authority",
            "https://login.microsoftonline.com/common",
        ],
    ])
    func refusesAnIssuerThatIsNoneOrASecondProvider(_ arguments: [String]) {
        #expect(throws: (any Error).self) { try ProgramOptions.parse(arguments) }
    }

    @Test func refusesAProviderWithoutAClient() throws {
        let options = try ProgramOptions.parse(["--authority", "https://login.microsoftonline.com/common"])
        #expect(throws: ValidationError.self) { try options.registration() }
    }

    @Test func sharesTheSignInWithAGroup() async throws {
        let arguments = ["--client-id", "abc", "--authority", "https://login.microsoftonline.com/common"]
        let options = try ProgramOptions.parse(arguments + ["--group", "org.example.office"])
        let url = try #require(URL(string: "https://graph.example.com"))
        let cloud = try await Cloud.open(options, else: nil, graphURL: url)
        let configuration = try cloud.application(cache: InMemoryTokenCache()).configuration
        #expect(configuration.cacheGroup == (try CacheGroup("org.example.office")))
        #expect(configuration.redirectReceiver is LoopbackRedirectReceiver)
    }

    @Test func waitsForARedirectByCustomScheme() async throws {
        let options = try ProgramOptions.parse([
            "--client-id", "abc", "--authority", "https://login.microsoftonline.com/common",
            "--redirect-uri", "com.example.app://auth",
        ])
        let url = try #require(URL(string: "com.example.app://auth"))
        let cloud = try await Cloud.open(options, else: nil, graphURL: url)
        let configuration = try cloud.application(cache: InMemoryTokenCache()).configuration
        #expect(configuration.redirectReceiver is CustomSchemeRedirectReceiver)
        #expect(configuration.redirectURI == (try .custom(url)))
    }

    @Test(arguments: [
        ["--client-id", "abc"], ["--authority", "common"], ["--group", "no group"],
        ["--client-id", "abc", "--authority", "http://example.com/common"], ["--cache", "somewhere"],
        ["--redirect-uri", "https://example.com/back"], ["--redirect-uri", "auth"],
        ["--redirect-uri", "com.example.app://auth#top"],
    ])
    func refuses(_ arguments: [String]) {
        #expect(throws: (any Error).self) { try ProgramOptions.parse(arguments) }
    }

    @Test func prefersItsRedirectURIToTheSettings() throws {
        var configuration = ClientConfiguration(
            clientID: "abc",
            authority: try .entra(.common),
            cache: InMemoryTokenCache()
        )
        let settings = try RedirectURI.loopback(ports: 8400...8400)
        configuration.redirectURI = settings
        try ProgramOptions.parse([]).configure(&configuration)
        #expect(configuration.redirectURI == settings)
        try ProgramOptions.parse(["--redirect-uri", "http://localhost:9000"]).configure(&configuration)
        #expect(configuration.redirectURI == (try .loopback(host: .localhost, ports: 9000...9000)))
        #expect(configuration.redirectReceiver is LoopbackRedirectReceiver)
    }

    @Test func asksTheBrokerIfTold() throws {
        func use(_ arguments: [String]) throws -> BrokerUse {
            var configuration = ClientConfiguration(
                clientID: "abc",
                authority: try .entra(.common),
                cache: InMemoryTokenCache()
            )
            try ProgramOptions.parse(arguments).configure(&configuration)
            return configuration.broker
        }
        guard case .off = try use([]) else { throw Unexpected() }
        guard case .whenAvailable(let broker) = try use(["--broker", "auto"]), broker is LinuxTokenBroker else {
            throw Unexpected()
        }
        guard case .required(let broker) = try use(["--broker", "required"]), broker is LinuxTokenBroker else {
            throw Unexpected()
        }
        #expect(throws: (any Error).self) { try ProgramOptions.parse(["--broker", "on"]) }
    }

    private struct Unexpected: Error {}

    @Test func isOpenedWithRedirectsAlone() throws {
        #expect(try ProgramOptions.parse(["com.example.app://auth?code=a&state=b"]).redirect != nil)
        for word in ["quickly", "http://localhost:8400/?code=a", "file:///etc/hosts", "urn:ietf:wg:oauth:2.0:oob"] {
            #expect(throws: (any Error).self) { try ProgramOptions.parse([word]) }
        }
    }

    private func cache(
        _ arguments: [String],
        _ use: CacheUse = .quiet,
        cloudEndsWithProgram: Bool = false
    ) throws -> any TokenCache {
        try ProgramOptions.parse(arguments)
            .tokenCache(applicationName: "A", use, cloudEndsWithProgram: cloudEndsWithProgram)
    }

    @Test func choosesTheCache() throws {
        #expect(try cache([]) is DesktopTokenCache)
        #expect(try cache(["--cache", "memory"]) is InMemoryTokenCache)
        #expect(try cache(["--cache", "file"]) is FileTokenCache)
    }

    /// Such tokens would stay in the keyring's files, useless, and a session without a keyring could try nothing out.
    @Test func keepsNoTokensOfACloudThatEndsWithTheProgram() throws {
        #expect(try cache([], cloudEndsWithProgram: true) is InMemoryTokenCache)
        #expect(try cache(["--cache", "desktop"], cloudEndsWithProgram: true) is DesktopTokenCache)
    }

    @Test func keepsNothingIfThePersonGoesOnWithout() throws {
        #expect(try cache(["--cache", "file"], .memory) is InMemoryTokenCache)
        #expect(try cache(["--cache", "file"], .asking) is FileTokenCache)
    }

    @Test func knowsTheCloudThatEndsWithTheProgram() async throws {
        let url = try #require(URL(string: "https://graph.example.com"))
        #expect(try await Cloud.open(ProgramOptions.parse([]), else: nil, graphURL: url).endsWithProgram)
        let arguments = ["--client-id", "abc", "--authority", "https://login.microsoftonline.com/common"]
        #expect(!(try await Cloud.open(ProgramOptions.parse(arguments), else: nil, graphURL: url).endsWithProgram))
    }
}
