// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Glibc
import IdentityClient
import Testing

@testable import IdentityKeyring

/// The directory of the scripts that start keyrings, set by `Scripts/test-keyring`. Without it, keyring tests are skipped.
let keyringSupport: String? = unsafe getenv("IDENTITY_KEYRING_TESTS").map { unsafe String(cString: $0) }

/// A bus and a keyring for one test. Both end with this object.
final class KeyringSession: Sendable {
    /// The keyring, and its state after the start.
    enum Mode: String, CaseIterable {
        case unlocked, locked, fake, graphical, keepassxc, crowded, desktop
        case noService = "no-service"
        case noCollection = "no-collection"
        case keepassxcLocked = "keepassxc-locked"
        case keepassxcAsking = "keepassxc-asking"
        case desktopNew = "desktop-new"
    }

    struct Failed: Error {
        let command: String
        let output: String
    }

    let directory: String

    init(_ mode: Mode) throws {
        directory = "/tmp/identity-keyring-\(UUID().uuidString)"
        try Self.check("start '\(directory)' \(mode.rawValue)")
    }

    deinit {
        _ = try? Self.check("stop '\(directory)'")
        try? FileManager.default.removeItem(atPath: directory)
    }

    /// Returns a value that the script wrote about the session.
    func value(_ name: String) throws -> String {
        let text = try String(contentsOfFile: "\(directory)/env", encoding: .utf8)
        for line in text.split(separator: "\n") where line.hasPrefix(name + "=") {
            return String(line.dropFirst(name.count + 1)).filter { $0 != "\\" && $0 != "'" }
        }
        throw Failed(command: name, output: text)
    }

    func settings() throws -> KeyringSettings {
        KeyringSettings(address: try value("BUS"), directory: "\(directory)/locks")
    }

    func cache(
        prompting: KeyringPrompting = .never,
        _ change: (inout KeyringSettings) -> Void = { _ in }
    ) throws -> KeyringTokenCache {
        var settings = try settings()
        change(&settings)
        return KeyringTokenCache(applicationName: "Test", prompting: prompting, settings: settings)
    }

    /// Starts the bus again, at the same address, and the keyring with it.
    func restartBus() throws { try Self.check("bus '\(directory)'") }

    /// Starts the keyring of the mode `fake` again.
    func restartFake() throws { try Self.check("fake '\(directory)'") }

    func restartKeyring() throws { try Self.check("keyring '\(directory)'") }

    func stopKeyring() throws { try Self.check("stop-keyring '\(directory)'") }

    /// Returns the log of the keyring of the mode `fake`: the dialogs that it showed and removed, and other events.
    func log() -> String {
        // Nothing was asked, so nothing was written.
        (try? String(contentsOfFile: "\(directory)/fake.log", encoding: .utf8)) ?? ""
    }

    func signal(_ number: Int32, _ process: String) throws {
        guard let id = try Int32(value(process)), kill(id, number) == 0 else {
            throw Failed(command: "kill \(process)", output: "\(errno)")
        }
    }

    /// Kills the keyring as soon as the next change of `key` has begun.
    func killWithTheNextChange(of key: CacheKey, in cache: KeyringTokenCache) async throws -> Task<Void, any Error> {
        let counter = try await cache.files.locks().counter(for: key)
        let before = counter.value
        return Task {
            while counter.value == before { await Task.yield() }
            try self.signal(SIGKILL, "KEYRING_PID")
        }
    }

    /// Runs a command in the session and returns its output.
    @discardableResult
    func run(_ command: String) throws -> String {
        try Self.shell("export DBUS_SESSION_BUS_ADDRESS='\(try value("BUS"))' HOME='\(directory)/home'; \(command)")
    }

    /// Tells the keyring of the mode `fake` how to behave.
    func tell(_ name: String, _ value: String) throws {
        try run(
            "gdbus call --session -d org.freedesktop.secrets -o /org/freedesktop/secrets "
                + "-m org.example.Control.Set \(name) \(value)"
        )
    }

    func lock() throws {
        try run(
            "gdbus call --session -d org.freedesktop.secrets -o /org/freedesktop/secrets "
                + "-m org.freedesktop.Secret.Service.Lock '[\"/org/freedesktop/secrets/collection/login\"]'"
        )
    }

    @discardableResult
    private static func check(_ arguments: String) throws -> String {
        try shell("timeout 40 '\(keyringSupport ?? "")/session' \(arguments)")
    }

    private static func shell(_ command: String) throws -> String {
        guard let pipe = unsafe popen("{ \(command) ; } 2>&1 < /dev/null", "re") else {
            throw Failed(command: command, output: "popen")
        }
        var output: [UInt8] = []
        while case let byte = unsafe fgetc(pipe), byte != EOF { output.append(UInt8(truncatingIfNeeded: byte)) }
        let text = String(decoding: output, as: UTF8.self)
        guard unsafe pclose(pipe) == 0 else { throw Failed(command: command, output: text) }
        return text
    }
}

extension KeyringSettings {
    /// The settings for a session, also in another process.
    init(address: String, directory: String) {
        self.init()
        busAddress = address
        self.directory = directory
    }
}

extension CacheRecord {
    init(_ text: String) { self.init(bytes: Array(text.utf8)) }
}

func randomKey(_ kind: CacheKey.Kind = .account, group: String = "suite") throws -> CacheKey {
    let name = (0..<64).map { _ in String(Int.random(in: 0..<16), radix: 16) }.joined()
    return CacheKey(group: try CacheGroup(group), kind: kind, name: name)
}

/// Returns the code of the error that `work` throws, and the time that it took.
func failure(_ work: () async throws -> some Sendable) async -> (code: AuthenticationError.Code?, time: Duration) {
    let start = ContinuousClock.now
    do {
        _ = try await work()
        return (nil, start.duration(to: .now))
    } catch {
        return ((error as? AuthenticationError)?.code, start.duration(to: .now))
    }
}
