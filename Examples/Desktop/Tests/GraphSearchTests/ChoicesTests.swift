// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import DesktopKit
import Foundation
import IdentityClient
import Testing

@testable import GraphSearch

@Suite struct ChoicesTests {
    private static let registration = [
        "--client-id", "a", "--authority", "https://login.microsoftonline.com/common",
    ]

    /// Parses a command line with settings files of the given names and contents.
    private func choices(_ files: [(name: String, json: String)], _ arguments: [String] = []) throws -> Choices {
        let folder = URL.temporaryDirectory.appending(path: "choices-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: folder) }
        var line = arguments
        for (number, file) in files.enumerated() {
            let url = folder.appending(path: "\(number)/\(file.name)")
            try FileManager.default.createDirectory(
                at: url.deletingLastPathComponent(),
                withIntermediateDirectories: true
            )
            try Data(file.json.utf8).write(to: url)
            line += ["--settings", url.path()]
        }
        return try Choices(try GraphSearch.parse(line))
    }

    @Test func makesATypeOfAccountOfEachSettingsFile() throws {
        let sources = try choices([("contoso.json", #"{"clientId": "a"}"#), ("fabrikam.json", #"{"clientId": "b"}"#)])
            .sources
        #expect(sources.map(\.name) == ["contoso", "fabrikam"])
        #expect(sources.map(\.settings.clientID) == ["a", "b"])
    }

    @Test func hasOneTypeWithoutFiles() throws {
        #expect(try choices([]).sources.map(\.name) == ["graph"])
        #expect(try choices([("contoso.json", "{}")], Self.registration).sources.count == 1)
    }

    @Test func returnsByTheSchemeOfTheCommandLine() async throws {
        let choices = try choices(
            [("contoso.json", #"{"redirectUri": "http://localhost:8400"}"#)],
            Self.registration + ["--redirect-uri", "com.example.app://auth"]
        )
        let source = choices.sources[0].settings
        let cloud = try await Cloud.open(choices.program, else: source.registration, graphURL: source.graphURL)
        let configuration = try cloud.configuration(cache: InMemoryTokenCache())
        #expect(configuration.redirectURI == (try .custom(try #require(URL(string: "com.example.app://auth")))))
        #expect(configuration.redirectReceiver is CustomSchemeRedirectReceiver)
    }

    @Test(arguments: [
        (["a.json", "b.json"], #"{"clientId": "a"}"#, Self.registration, "exclude --client-id"),
        (["a.json", "b.json"], "{}", [], "a: clientId is missing"),
        (["a.json", "a.json"], #"{"clientId": "a"}"#, [], "Two settings files have one name"),
    ])
    func saysWhatSeveralFilesNeed(names: [String], json: String, arguments: [String], words: String) throws {
        let error = try #require(throws: ValidationError.self) {
            try choices(names.map { ($0, json) }, arguments)
        }
        #expect(error.message.contains(words), "\(error.message)")
    }
}
