// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import IdentityClient
import IdentityKeyring
import IdentityTestSupport
import Logging
import Testing

@testable import identityctl

/// Profiles of the whole machine, and a person's own above them.
@Suite struct SharedProfileTests {
    private let place: TemporaryDirectory
    private let directory: ProfileDirectory
    private let variables: Variables

    init() throws {
        place = try TemporaryDirectory()
        let shared = "\(place.path)/etc"
        try FileManager.default.createDirectory(atPath: "\(shared)/profiles", withIntermediateDirectories: true)
        variables = Variables(["HOME": place.path])
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

    @Test func haveAnOwner() throws {
        try directory.write("client-id = own\n", as: name("own"), replaces: false)
        #expect(try directory.owner(of: name("work")) == .machine && directory.owner(of: name("own")) == .person)
        try directory.write("client-id = mine\n", as: name("work"), replaces: false)
        #expect(try directory.owner(of: name("work")) == .copy)
        try directory.remove(name("work"))
        #expect(try directory.owner(of: name("work")) == .machine)
    }

    @Test func haveADefaultBelowThePersonsChoice() throws {
        try share("second", "client-id = second\n")
        #expect(try directory.usualName() == nil)
        try Data("second\n".utf8).write(to: URL(filePath: "\(place.path)/etc/default-profile"))
        #expect(try directory.usualName() == name("second"))
        try directory.setDefault(name("work"))
        #expect(try directory.usualName() == name("work"))
    }

    /// A profile that a person has never signed in with is no breakage of the person's.
    @Test func areNotNeededBeforeASignInWithThem() async throws {
        try share("work", "client-id = shared\nissuer = https://id.example.com\ncache = keyring\n")
        try directory.write(
            "client-id = mine\nissuer = https://id.example.com\ncache = keyring\n",
            as: name("own"),
            replaces: false
        )
        func profiles() async throws -> [ExaminedProfile] {
            let session = Session(
                TokenRoute(variables: variables),
                console: .standardError(),
                isJSON: true,
                logLevel: .critical
            )
            let keyring = Result<KeyringStatus, any Error>.failure(AuthenticationError(.keyringTimedOut, "Its reason."))
            return try await ProfilesExamination(session: session, keyring: keyring, directory: directory).profiles()
        }
        let before = try await profiles()
        #expect(before.map(\.finding.check) == ["profile own", "profile work"])
        #expect(before.map(\.finding.state) == [.lack, .unknown])
        #expect(before[1].finding.found.hasSuffix("; not needed before you sign in with it"))
        #expect(before.map(\.needsKeyring) == [true, false])
        #expect(before.map { $0.provider == nil } == [false, true])
        // From the first sign-in on it counts.
        let path = try #require(directory.accountPath(of: name("work")))
        try PlainFile.write(Array(#"{"account":"a","client":[]}"#.utf8), to: path)
        #expect(try await profiles().map(\.finding.state) == [.lack, .lack])
    }

    @Test func stayAsTheyAreWhenAPersonChangesThem() throws {
        let before = try directory.text(of: name("work"))
        let after = Array("client-id = mine\nissuer = https://id.example.com\n".utf8)
        try ProfileCheck.change(name("work"), from: before, to: after, namedAs: "/p", in: directory, variables)
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
        // With its reading rights gone, only root could use it.
        #expect(!refusal.message.contains("chmod"))
        try share(
            "work",
            "client-id = shared\nissuer = https://id.example.com\nclient-secret = s\nclient-secret-is-public = on\n"
        )
        #expect(try directory.profile(named: name("work")).given("client-secret")?.text == "s")
    }

    @Test func areNotCountedBesideThePersonsOnlyOne() throws {
        try share("second", "client-id = second\n")
        try directory.write("client-id = mine\nissuer = https://id.example.com\n", as: name("own"), replaces: false)
        #expect(try directory.usualName() == name("own"))
        try directory.write("client-id = other\nissuer = https://id.example.com\n", as: name("other"), replaces: false)
        #expect(try directory.usualName() == nil)
    }

    @Test func yieldAnAddressToThePersonsOwn() throws {
        let address = try #require(ServedAddress(asked: "https://git.test/team"))
        let lines = "issuer = https://id.example.com\nserves = https://git.test\n"
        try share("work", "client-id = shared\n" + lines)
        try directory.write("client-id = mine\n" + lines, as: name("own"), replaces: false)
        let served = try directory.profile(serving: address) { Issue.record("\($0)") }
        #expect(served?.name.text == "own")
        try directory.checkServedAddresses(of: directory.profile(named: name("own")))
        // Two of one owner cannot be told apart, and both files are named.
        try share("second", "client-id = shared\n" + lines)
        try directory.remove(name("own"))
        let refusal = try #require(throws: UsageError.self) { try directory.profile(serving: address) { _ in } }
        #expect(refusal.message.contains("https://git.test/team"))
        #expect(refusal.message.contains("\(place.path)/etc/profiles/second.conf"))
        #expect(refusal.message.contains("\(place.path)/etc/profiles/work.conf"))
    }

    @Test func yieldToAChangeThatAnotherProgramMade() throws {
        let before = try directory.text(of: name("work"))
        try share("work", "client-id = changed\nissuer = https://id.example.com\n")
        #expect(throws: UsageError.self) {
            try ProfileCheck.change(name("work"), from: before, to: before, namedAs: "/p", in: directory, variables)
        }
    }
}
