// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import IdentityTestSupport
import Testing

@testable import identityctl

/// Profiles of the whole machine, and a person's own above them.
@Suite struct SharedProfileTests {
    private let place: TemporaryDirectory
    private let directory: ProfileDirectory
    private let variables: Environment

    init() throws {
        place = try TemporaryDirectory()
        let shared = "\(place.path)/etc"
        try FileManager.default.createDirectory(atPath: "\(shared)/profiles", withIntermediateDirectories: true)
        variables = Environment(["HOME": place.path])
        directory = try ProfileDirectory(variables, shared: shared)
        try share("work", "client-id = shared\nissuer = https://id.example.com\n")
    }

    private func share(_ name: String, _ text: String) throws {
        try Data(text.utf8).write(to: URL(filePath: "\(place.path)/etc/profiles/\(name).conf"))
    }

    private func name(_ text: String) throws -> ProfileName { try #require(ProfileName(text)) }

    @Test func areFoundBelowThePersonsOwn() throws {
        #expect(try directory.profile(named: name("work")).given("client-id")?.text == "shared")
        #expect(try directory.usualName() == name("work"))
        try directory.write("client-id = mine\n", as: name("work"), replaces: false)
        try directory.write("client-id = other\n", as: name("own"), replaces: false)
        #expect(try directory.profile(named: name("work")).given("client-id")?.text == "mine")
        #expect(try directory.names().map(\.text) == ["own", "work"])
    }

    @Test func haveADefaultBelowThePersonsChoice() throws {
        try share("second", "client-id = second\n")
        #expect(try directory.usualName() == nil)
        try Data("second\n".utf8).write(to: URL(filePath: "\(place.path)/etc/default-profile"))
        #expect(try directory.usualName() == name("second"))
        try directory.setDefault(name("work"))
        #expect(try directory.usualName() == name("work"))
    }

    @Test func stayAsTheyAreWhenAPersonChangesThem() throws {
        let before = try directory.text(of: name("work"))
        let after = Array("client-id = mine\nissuer = https://id.example.com\n".utf8)
        try directory.change(name("work"), from: before, to: after, namedAs: "/p", variables)
        #expect(
            try directory.profile(named: name("work")).path == "\(place.path)/.config/identityctl/profiles/work.conf"
        )
        try directory.remove(name("work"))
        #expect(try directory.profile(named: name("work")).given("client-id")?.text == "shared")
        let refusal = try #require(throws: UsageError.self) { try directory.remove(name("work")) }
        #expect(refusal.message.contains("whole machine"))
    }

    @Test func areRefusedWithASecretThatOthersCanRead() throws {
        try share("work", "client-id = shared\nissuer = https://id.example.com\nclient-secret = s\n")
        let refusal = try #require(throws: UsageError.self) { try directory.profile(named: name("work")) }
        #expect(refusal.message.contains("others can read its client-secret"))
    }

    @Test func yieldToAChangeThatAnotherProgramMade() throws {
        let before = try directory.text(of: name("work"))
        try share("work", "client-id = changed\nissuer = https://id.example.com\n")
        #expect(throws: UsageError.self) {
            try directory.change(name("work"), from: before, to: before, namedAs: "/p", variables)
        }
    }
}
