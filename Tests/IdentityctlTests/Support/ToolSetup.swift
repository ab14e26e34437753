// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Foundation
import Glibc
import IdentityClient
import IdentityTestSupport
import IdentityTesting
import Logging
import Testing

@testable import identityctl

/// A provider on the loopback interface, a directory for the tokens, and a person with a browser.
final class ToolSetup: Sendable {
    let provider: TestIdentityProvider
    private let temporary: TemporaryDirectory
    var directory: URL { URL(fileURLWithPath: temporary.path) }
    let issuer: String

    init(_ profile: TestIdentityProvider.Profile = .openIDConnect, clock: (any WallClock)? = nil) throws {
        provider =
            try clock.map { try TestIdentityProvider(profile: profile, clock: $0) }
            ?? TestIdentityProvider(profile: profile)
        issuer = try provider.listen().description
        temporary = try TemporaryDirectory()
    }

    deinit {
        provider.close()
    }

    /// The variables for the options that every command needs. A sign-in prints its token, which tests compare.
    var variables: [String: String] {
        [
            "IDENTITYCTL_PRINT_TOKEN": "1",
            "IDENTITYCTL_CLIENT_ID": "test-client", "IDENTITYCTL_SCOPE": "files.read",
            provider.profile == .openIDConnect ? "IDENTITYCTL_ISSUER" : "IDENTITYCTL_AUTHORITY": issuer,
            "IDENTITYCTL_CACHE": "file:\(directory.path)/cache", "IDENTITYCTL_BROWSER": BrowserStandIn.name,
        ]
    }

    /// The same on a machine without a keyring, where the tool chooses the store in a directory of its own.
    func variablesWithoutKeyring(state: String) -> [String: String] {
        variables.filter { $0.key != "IDENTITYCTL_CACHE" }
            .merging(["XDG_STATE_HOME": state, "DBUS_SESSION_BUS_ADDRESS": "disabled:"]) { $1 }
    }

    func run(_ arguments: String...) async throws -> Tool.Outcome {
        try await Tool.run(arguments, variables)
    }

    /// Signs a person in as `login` does, in this process: for tests of what comes after a sign-in.
    ///
    /// - Parameters:
    ///   - variables: Those of the sign-in, by default the setup's.
    ///   - profile: The name of the profile to sign in with.
    /// - Returns: The access token.
    @discardableResult
    func signIn(
        as person: TestIdentityProvider.Person = .alice,
        _ variables: [String: String]? = nil,
        profile: String? = nil
    ) async throws -> String {
        var environment = Variables(variables ?? self.variables)
        if let profile {
            let name = try ProfileName(Given(text: profile, origin: "a test"))
            environment = environment.above(try ProfileDirectory(environment).profile(named: name))
        }
        let console = Screen().console(columns: nil, isTerminal: false)
        let session = Session(
            TokenRoute(variables: environment),
            console: console,
            isJSON: false,
            logLevel: .critical
        )
        let (options, receiver) = (try ProviderOptions.parse([]), InMemoryRedirectReceiver())
        var configuration = try options.configuration(environment)
        configuration.transport = provider.transport
        configuration.redirectReceiver = receiver
        configuration.browser = ScriptedBrowser(provider: provider, signingInAs: person, receiver: receiver)
        let application = try session.application(configuration)
        let scopes = try TokenOptions.parse([]).scopes(environment)
        let result = try await application.acquireTokenInteractively(scopes: scopes)
        await session.keepAccountOfProfile(result.account, options, application)
        return result.accessToken
    }

    /// Signs a person in through the tool's own redirect address.
    func login(
        _ arguments: String...,
        as person: TestIdentityProvider.Person = .alice,
        behaviour: ScriptedBrowser.Behaviour = .approve
    ) async throws -> Tool.Outcome {
        let tool = try Tool(["login"] + arguments, variables)
        let browser = ScriptedBrowser(provider: nil, signingInAs: person, behaviour: behaviour)
        try await browser.visit(try await tool.shownAddress())
        return try await tool.outcome()
    }

    /// The stored refresh token of the only sign-in.
    func refreshToken() throws -> String {
        let records = try cacheContents().values.map { String(decoding: $0, as: UTF8.self) }
        let found = records.compactMap { $0.firstMatch(of: /"RefreshToken":.*?"secret":"([^"]+)"/)?.output.1 }
        return String(try #require(found.first))
    }

    /// Takes the locks of all records that were written, as a process that hangs has them.
    ///
    /// - Returns: The open lock files, which the caller closes.
    func lockRecords() throws -> [Int32] {
        let root = "\(directory.path)/cache"
        let locks = try FileManager.default.subpathsOfDirectory(atPath: root).filter { $0.contains("/.lock-") }
            .map { unsafe open("\(root)/\($0)", O_RDWR | O_CLOEXEC) }
        for lock in locks { try #require(flock(lock, LOCK_EX) == 0) }
        return locks
    }

    /// The names and contents of all files of the cache.
    func cacheContents() throws -> [String: Data] {
        let root = directory.appendingPathComponent("cache")
        var contents: [String: Data] = [:]
        for name in try FileManager.default.subpathsOfDirectory(atPath: root.path) {
            contents[name] = FileManager.default.contents(atPath: root.appendingPathComponent(name).path) ?? Data()
        }
        return contents
    }
}
