// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import IdentityClient
import Testing

/// A scripted person: the command that the library starts as the browser, and the log of what the person saw.
struct Person: Sendable {
    enum Kind: String, Sendable {
        /// In front of a real, headless Chromium.
        case chromium = "IDENTITY_E2E_BROWSER"
        /// Who fills in forms without a browser, and can tamper with the answer.
        case form = "IDENTITY_E2E_FORM_BROWSER"
    }

    /// One line of the log; which members it has depends on the event.
    struct Event: Decodable, Sendable {
        let event: String
        let status: Int?
        let http: Int?
        let address: String?
        let title: String?
        let text: String?
        let body: String?
    }

    let launcher: SystemBrowserLauncher
    private let log: String

    /// - Parameters:
    ///   - mode: What the person does: see `PERSON_MODE` in the test support.
    ///   - profile: Where the browser keeps its session; `nil` means that it forgets it.
    ///   - username: Who it is; `nil` means the provider's first person.
    ///   - end: `page` where the person ends at the provider's, and is not sent back to a program.
    init(
        _ kind: Kind,
        at provider: Provider,
        mode: String = "approve",
        profile: String? = nil,
        username: String? = nil,
        end: String = "",
        logsTo directory: TemporaryDirectory
    ) throws {
        log = "\(directory.path)/person-\(UUID().uuidString).log"
        var command = ["env", "PERSON_PROVIDER=\(provider.file)", "PERSON_MODE=\(mode)", "PERSON_LOG=\(log)"]
        command += ["PERSON_TIMEOUT=45", "PERSON_PROFILE=\(profile ?? "")", "PERSON_END=\(end)"]
        command.append("PERSON_USERNAME=\(username ?? "")")
        command.append(try Settings.value(kind.rawValue))
        launcher = SystemBrowserLauncher(command: command)
    }

    /// What has happened so far.
    var events: [Event] {
        get throws {
            guard let data = FileManager.default.contents(atPath: log) else { return [] }
            return try data.split(separator: UInt8(ascii: "\n")).map { try JSONDecoder().decode(Event.self, from: $0) }
        }
    }

    func events(_ name: String) throws -> [Event] {
        try events.filter { $0.event == name }
    }

    /// Waits until the person has gone, with the browser; gives 0 when they arrived where they wanted to.
    @discardableResult
    func exitStatus() async throws -> Int {
        let deadline = ContinuousClock.now + .seconds(50)
        while ContinuousClock.now < deadline {
            // The last line may be half written.
            if let status = try? events("exit").last?.status { return status }
            try await Task.sleep(for: .milliseconds(20))
        }
        throw PersonStays(log: FileManager.default.contents(atPath: log).map { String(decoding: $0, as: UTF8.self) })
    }

    /// The page the browser ended at.
    func lastPage() async throws -> Event {
        #expect(try await exitStatus() == 0)
        return try #require(try events("page").last)
    }

    /// Where the provider sent a person without a browser, once they are gone.
    func redirect() async throws -> URL {
        try await exitStatus()
        let address = try #require(try events("redirected").last?.address)
        return try #require(URL(string: address))
    }
}

struct PersonStays: Error {
    let log: String?
}
