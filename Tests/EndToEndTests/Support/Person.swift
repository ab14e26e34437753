// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import IdentityClient
import IdentityTestSupport
import Testing

/// A scripted person: the command that the library starts as the browser, and the log of the pages the person saw.
struct Person: Sendable {
    enum Kind: String, Sendable {
        /// A person in front of a real, headless Chromium.
        case chromium = "IDENTITY_E2E_BROWSER"
        /// A person without a browser, who fills in forms and can change the answer.
        case form = "IDENTITY_E2E_FORM_BROWSER"
    }

    /// A line of the log. Its members depend on the event.
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

    /// Creates a person.
    ///
    /// - Parameters:
    ///   - mode: The person's behavior: see `PERSON_MODE` in the test support.
    ///   - profile: The folder in which the browser keeps its session; `nil` means that the session is forgotten.
    ///   - username: The person's username; `nil` means the provider's first person.
    ///   - end: `page` if the person ends at a page of the provider and is not sent back to a program.
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

    /// The events so far.
    var events: [Event] {
        get throws {
            guard let data = FileManager.default.contents(atPath: log) else { return [] }
            return try data.split(separator: UInt8(ascii: "\n")).map { try JSONDecoder().decode(Event.self, from: $0) }
        }
    }

    func events(_ name: String) throws -> [Event] {
        try events.filter { $0.event == name }
    }

    /// Waits until the person and the browser have ended; returns 0 if the person arrived at their destination.
    @discardableResult
    func exitStatus() async throws -> Int {
        let deadline = ContinuousClock.now + .seconds(50)
        while ContinuousClock.now < deadline {
            // The last line may be incomplete.
            if let status = try? events("exit").last?.status { return status }
            try await Task.sleep(for: .milliseconds(20))
        }
        throw PersonStays(log: FileManager.default.contents(atPath: log).map { String(decoding: $0, as: UTF8.self) })
    }

    /// Returns the last page that the browser showed.
    func lastPage() async throws -> Event {
        #expect(try await exitStatus() == 0)
        return try #require(try events("page").last)
    }

    /// Waits until a person without a browser has ended, and returns the address to which the provider sent them.
    func redirect() async throws -> URL {
        try await exitStatus()
        let address = try #require(try events("redirected").last?.address)
        return try #require(URL(string: address))
    }
}

struct PersonStays: Error {
    let log: String?
}
