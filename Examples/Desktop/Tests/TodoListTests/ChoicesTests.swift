// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Foundation
import IdentityClient
import Testing
import TodoListModel

@testable import TodoList

@Suite struct ChoicesTests {
    private static let registration = [
        "--client-id", "abc", "--authority", "https://contoso.b2clogin.com/contoso.onmicrosoft.com/b2c_1_susi",
        "--task-api", "https://tasks.example.com",
    ]

    private func session(_ arguments: [String]) throws -> TodoSession {
        let choices = try Choices(try TodoList.parse(arguments))
        guard case .real(let settings) = choices.cloud else { throw SettingsMissing() }
        return try TodoSession(settings: settings, cache: InMemoryTokenCache(), choices.program.configure)
    }

    private struct SettingsMissing: Error {}

    @Test func returnsToTheLoopbackInterfaceUnlessTold() throws {
        let configuration = try session(Self.registration).application.configuration
        #expect(configuration.redirectURI == .loopback)
        #expect(configuration.redirectReceiver is LoopbackRedirectReceiver)
    }

    @Test func returnsByTheSchemeOfTheCommandLine() throws {
        let arguments = Self.registration + ["--redirect-uri", "com.example.app://auth"]
        let configuration = try session(arguments).application.configuration
        #expect(configuration.redirectURI == (try .custom(try #require(URL(string: "com.example.app://auth")))))
        #expect(configuration.redirectReceiver is CustomSchemeRedirectReceiver)
    }

    @Test func returnsByTheSchemeOfTheSettings() throws {
        let file = URL.temporaryDirectory.appending(path: "\(UUID()).json")
        defer { try? FileManager.default.removeItem(at: file) }
        let policy = "https://contoso.b2clogin.com/contoso.onmicrosoft.com/b2c_1_susi/oauth2/v2.0"
        let settings = [
            "clientID": "abc", "authURL": "\(policy)/authorize", "tokenURL": "\(policy)/token",
            "taskAPI": "https://tasks.example.com", "bhh": "com.example.app://auth",
        ]
        try JSONEncoder().encode(settings).write(to: file)
        let configuration = try session(["--settings", file.path()]).application.configuration
        #expect(configuration.redirectReceiver is CustomSchemeRedirectReceiver)
    }

    @Test(arguments: [
        ["--client-id", "abc", "--authority", "https://contoso.b2clogin.com/contoso.onmicrosoft.com/b2c_1_susi"],
        Self.registration + ["--stand-in", "http://127.0.0.1:8000"],
        ["--stand-in", "http://stand-in.example.com"],
    ])
    func refuses(_ arguments: [String]) {
        #expect(throws: (any Error).self) { try TodoList.parse(arguments) }
    }
}
