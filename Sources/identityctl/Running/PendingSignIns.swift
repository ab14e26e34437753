// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Glibc
import IdentityClient
import LoopbackHTTP
import OAuthWire
import SystemSupport

/// The sign-ins of a client that `login --start` began and `login --finish` has not ended: a file for each, which only this
/// user can read, in the directory for data of a session.
struct PendingSignIns {
    private static let limit = 512 << 10

    private let directory: String
    /// The beginning of the files' names.
    private let client: String
    private let clock: any WallClock

    /// - Parameter directory: The directory for data of a session.
    /// - Throws: `.cache` if there is no place for the files.
    init(_ configuration: ClientConfiguration, in directory: String? = nil) throws {
        self.directory = try (directory ?? RuntimeDirectory.path()) + "/pending-sign-ins"
        clock = configuration.clock
        client = Self.digest(configuration.clientID.rawValue, configuration.authority.fullName)
    }

    /// Keeps a sign-in. Those that have expired, of any client, are removed.
    ///
    /// - Parameter account: The value of `--account`.
    func add(_ request: AuthorizationRequest, account: String?) throws {
        var content = JSONObject([("request", .string(String(decoding: try request.serialized(), as: UTF8.self)))])
        content["account"] = account.map { .string($0) }
        let now = clock.now.timeIntervalSince1970
        for name in names where Self.end(of: name).map({ $0 < now }) == true { unsafe unlink("\(directory)/\(name)") }
        let end = Int(request.validUntil.timeIntervalSince1970)
        let path = "\(directory)/\(client).\(Self.digest(request.state)).\(end)"
        try PlainFile.write(content.serialized(), to: path, in: .free)
    }

    /// Returns the sign-in that an address answers, and keeps other commands from finishing it meanwhile; `nil` if none
    /// waits for the address.
    ///
    /// - Throws: `.interactionInProgress` if another command is finishing it; `SystemFailure`.
    func take(answeredBy address: URL) throws -> PendingSignIn? {
        let states = RedirectAddress(address.absoluteString).states
        guard states.count == 1 else { return nil }
        let beginning = "\(client).\(Self.digest(states[0]))."
        guard let name = names.first(where: { $0.hasPrefix(beginning) }) else { return nil }
        let path = "\(directory)/\(name)"
        let raw = unsafe open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY)
        guard raw >= 0 else {
            if errno == ENOENT { return nil }
            throw SystemFailure("\(path.printable) cannot be read", number: errno)
        }
        let lock = SharedDescriptor(raw)
        guard flock(raw, LOCK_EX | LOCK_NB) == 0 else {
            throw AuthenticationError(.interactionInProgress, "Another command is finishing this sign-in.")
        }
        // Another command may have finished it before the lock was taken.
        guard let bytes = try PlainFile.read(path, atMost: Self.limit, check: { try Self.check($0, path) })?.bytes
        else {
            return nil
        }
        guard let content = try? JSONObject(parsing: bytes), let request = content.string("request") else {
            throw SystemFailure("\(path.printable) is damaged. Remove it, and begin the sign-in again.")
        }
        return PendingSignIn(request: Array(request.utf8), account: content.string("account"), path: path, lock: lock)
    }

    /// Gives up all sign-ins of the client.
    ///
    /// - Returns: Whether there were any.
    func removeAll() -> Bool {
        let own = names.filter { $0.hasPrefix("\(client).") }
        for name in own { unsafe unlink("\(directory)/\(name)") }
        return !own.isEmpty
    }

    private var names: [String] { (try? FileManager.default.contentsOfDirectory(atPath: directory)) ?? [] }

    /// The end of a sign-in's time, which is the last part of its file's name.
    private static func end(of name: String) -> Double? {
        let parts = name.split(separator: ".", omittingEmptySubsequences: false)
        return parts.count == 3 ? Double(parts[2]) : nil
    }

    private static func digest(_ parts: String...) -> String { String(Digest.hexadecimal(of: parts).prefix(32)) }

    private static func check(_ status: stat, _ path: String) throws {
        guard status.st_mode & S_IFMT == S_IFREG, status.st_uid == geteuid(), status.st_mode & 0o077 == 0,
            status.st_nlink == 1
        else {
            throw SystemFailure("\(path.printable) is no file that only you can read. Remove it, and begin again.")
        }
    }
}

/// A sign-in that `login --start` began, while this command finishes it.
struct PendingSignIn {
    /// The prepared request, which is a secret.
    let request: [UInt8]
    /// The account that `--account` named at the start.
    let account: String?
    private let path: String
    /// Keeps other commands away until it is released, also if this command is killed.
    private let lock: SharedDescriptor

    fileprivate init(request: [UInt8], account: String?, path: String, lock: SharedDescriptor) {
        self.request = request
        self.account = account
        self.path = path
        self.lock = lock
    }

    /// Finishes the sign-in. It stays if the same address may still finish it.
    func finish(_ application: PublicClientApplication, with address: URL) async throws -> AuthenticationResult {
        do {
            let request = try await application.restoreAuthorization(request)
            let result = try await application.completeAuthorization(request, with: address)
            unsafe unlink(path)
            return result
        } catch {
            if !Self.canBeRepeated(after: error) { unsafe unlink(path) }
            throw error
        }
    }

    /// Whether the code was perhaps not redeemed. If it was, the provider refuses it the next time.
    private static func canBeRepeated(after error: any Error) -> Bool {
        switch (error as? AuthenticationError)?.code {
        case .network?, .serverUnavailable?, .cache?: true
        case nil: error is CancellationError
        default: false
        }
    }
}
