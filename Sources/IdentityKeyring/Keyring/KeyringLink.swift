// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import GLibSupport
import IdentityClient
import Synchronization
import SystemSupport

/// A private connection to the bus, and a session with the keyring in which secrets are encrypted once one is read or written.
///
/// A link is not repaired: if the bus, the keyring or the session ends, the connector opens a new link. Only the opening of
/// a link may start a keyring.
final class KeyringLink: Sendable {
    static let service = "org.freedesktop.secrets"
    static let root = "/org/freedesktop/secrets"

    /// Notes of the bus's callbacks, which run before the link exists.
    private final class Notes: Sendable {
        /// Whether the bus, the keyring or the session has ended.
        let isEnded = Mutex(false)
        let lockChanges = Mutex(0)
    }

    /// A session that callers wait for, or that is open.
    private struct Opening {
        let promise: Promise<SecretSession>
        var session: SecretSession?
    }

    let bus: BusConnection
    /// The session, once a secret was read or written.
    private let opening = Mutex<Opening?>(nil)
    /// The default collection when the keyring was last asked, or `nil` if it was locked, missing or not asked for.
    let collection: Mutex<String?>
    /// The program behind the keyring, or `nil` if the system did not tell.
    let providerName: Mutex<String?>
    private let notes: Notes
    /// Whether a call got no answer in time, and the question sent after it has none yet.
    private let isWaitingForAnswer = Mutex(false)

    private init(
        bus: BusConnection,
        collection: String?,
        provider: String?,
        notes: Notes
    ) {
        self.notes = notes
        self.bus = bus
        providerName = Mutex(provider)
        self.collection = Mutex(collection)
    }

    /// Connects without a time limit. Each waiting caller has a deadline of its own.
    ///
    /// Calls that do not depend on each other's answers run at the same time: libsecret is loaded while the connection to
    /// the bus is made, and the default collection and the keyring's name are requested together, after the keyring has
    /// registered this caller.
    ///
    /// - Parameters:
    ///   - startsKeyring: Whether the bus may start a keyring if none runs.
    ///   - changed: Called on the GLib thread for each signal of the keyring, and with `nil` when the link has ended.
    /// - Throws: The errors that ``AuthenticationError/fromKeyring(_:)`` translates.
    static func open(
        _ settings: KeyringSettings,
        startsKeyring: Bool,
        changed: @escaping @Sendable (BusConnection.Signal?) -> Void
    ) async throws -> KeyringLink {
        let thread = try await GLibThread.running(library: settings.gioLibrary)
        let connected = ScopedTask { try await settings.connect() }
        try await SecretSession.load(settings.secretLibrary, on: thread).value()
        let bus = try await connected.value()
        let notes = Notes()
        let end: @Sendable () -> Void = {
            notes.isEnded.withLock { $0 = true }
            changed(nil)
        }
        bus.whenClosed(end)
        bus.subscribe(to: service) { signal in
            if signal.tellsOfLock { notes.lockChanges.withLock { $0 += 1 } }
            changed(signal)
        }
        // The session ends with the name's owner. A new owner ends nothing: our first call may start the keyring.
        bus.whenOwnerLeaves(service, end)
        let timeout = Duration.seconds(600)
        try await registerCaller(on: bus, startsKeyring, within: timeout)
        // If this fails, the first look asks again, and its error is the caller's.
        let collection = ScopedTask { try await defaultCollection(on: bus, within: timeout) }
        let name = await provider(on: bus, within: timeout)
        return await KeyringLink(bus: bus, collection: try? collection.value(), provider: name, notes: notes)
    }

    /// Returns the session. The first call opens it, and all callers wait for that without a time limit: each has a
    /// deadline of its own.
    ///
    /// The keyring and this process calculate for 5 ms to agree on a key. A locked keyring is known without that.
    func session() async throws -> SecretSession {
        let (promise, isNew) = opening.withLock { opening in
            if let opening { return (opening.promise, false) }
            let promise = Promise<SecretSession>()
            opening = Opening(promise: promise)
            return (promise, true)
        }
        if isNew { Task { await open(promise) } }
        return try await promise.value()
    }

    private func open(_ promise: Promise<SecretSession>) async {
        do {
            let session = try await SecretSession.open(on: bus, within: .seconds(600))
            opening.withLock { if $0?.promise === promise { $0?.session = session } }
            promise.finish(.success(session))
        } catch {
            opening.withLock { if $0?.promise === promise { $0 = nil } }
            let failure = error as? GLibFailure
            promise.finish(.failure(failure?.during("Service.OpenSession", of: providerName.withLock { $0 }) ?? error))
        }
    }

    /// Leaves a session, so that the next reader opens another one.
    func leave(_ session: SecretSession) {
        opening.withLock { if $0?.session === session { $0 = nil } }
    }

    /// Sends a call that needs no state of this caller, and waits for the answer. Any error that shows a running keyring
    /// counts as an answer.
    ///
    /// GNOME Keyring (seen in 42.1 and 50.0) registers a new caller while it handles the caller's first call, and
    /// sometimes too late for that call. If the first call opens a session, the keyring crashes and comes back locked. If
    /// it asks for the default collection, the answer is that there is none.
    private static func registerCaller(
        on bus: BusConnection,
        _ startsKeyring: Bool,
        within timeout: Duration
    ) async throws {
        do {
            _ = try await call(
                "ReadAlias",
                of: "Service",
                at: root,
                "('none',)",
                "(o)",
                on: bus,
                startsKeyring: startsKeyring,
                within: timeout
            )
        } catch let failure as GLibFailure {
            switch KeyringProblem(failure) {
            case .noService, .accessDenied, .stale, .timedOut: throw failure
            case .locked, .noSuchObject, .undecodable, .other: break
            }
        }
    }

    /// Whether calls can be made: the bus, the keyring and the session are still there.
    var isUsable: Bool { !notes.isEnded.withLock { $0 } }

    /// The number of signals so far that may tell of a lock. A signal is counted before an answer that follows it.
    var lockChanges: Int { notes.lockChanges.withLock { $0 } }

    /// Whether the keyring leaves calls unanswered at this time.
    var isUnresponsive: Bool { isWaitingForAnswer.withLock { $0 } }

    /// Marks the link as ended, so that the connector opens a new one.
    func retire() {
        notes.isEnded.withLock { $0 = true }
    }

    /// Notes that a call was not answered in time. Sends one question whose answer shows that the keyring answers again.
    func noteMissingAnswer() {
        let isFirst = isWaitingForAnswer.withLock { isWaiting in
            defer { isWaiting = true }
            return !isWaiting
        }
        guard isFirst else { return }
        Task {
            // An error is an answer as well.
            _ = try? await call(
                "ReadAlias",
                of: "Service",
                at: Self.root,
                "('default',)",
                "(o)",
                within: .seconds(3600)
            )
            isWaitingForAnswer.withLock { $0 = false }
        }
    }

    /// Calls a method of the Secret Service.
    func call(
        _ method: String,
        of interface: String,
        at path: String,
        _ arguments: String? = nil,
        secret: Variant? = nil,
        _ reply: String,
        within timeout: Duration
    ) async throws -> Variant {
        let provider = providerName.withLock { $0 }
        return try await Self.call(
            method,
            of: interface,
            at: path,
            arguments,
            secret: secret,
            reply,
            on: bus,
            provider: provider,
            within: timeout
        )
    }

    static func call(
        _ method: String,
        of interface: String,
        at path: String,
        _ arguments: String? = nil,
        secret: Variant? = nil,
        _ reply: String,
        on bus: BusConnection,
        provider: String? = nil,
        startsKeyring: Bool = false,
        within timeout: Duration
    ) async throws -> Variant {
        do {
            return try await bus.call(
                method,
                of: interface.contains(".") ? interface : "org.freedesktop.Secret.\(interface)",
                at: path,
                in: service,
                arguments,
                secret: secret,
                returning: reply,
                startsService: startsKeyring,
                timeout: timeout
            )
        } catch let failure as GLibFailure {
            throw failure.during("\(interface).\(method)", of: provider)
        }
    }
}
