// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import GLibSupport
import IdentityClient
import Synchronization

/// One way to the keyring: a private connection to the bus, and a session in which secrets are encrypted.
///
/// It is not repaired: when the bus, the daemon or the session goes, a new link takes its place. So only what opens it may
/// start a keyring.
final class KeyringLink: Sendable {
    static let service = "org.freedesktop.secrets"
    static let root = "/org/freedesktop/secrets"

    /// Whether the bus, the daemon or the session is gone.
    private final class End: Sendable {
        let isReached = Mutex(false)
    }

    let bus: BusConnection
    let session: SecretSession
    /// The default collection, as far as it is known.
    let collection: Mutex<KnownCollection>
    /// The program behind the keyring; `nil` where the system did not tell.
    let providerName: Mutex<String?>
    private let end: End
    /// A call was not answered in time, and its successor has not been answered yet.
    private let silence = Mutex(false)

    private init(
        bus: BusConnection,
        session: SecretSession,
        collection: String?,
        provider: String?,
        end: End
    ) {
        self.end = end
        self.bus = bus
        self.session = session
        providerName = Mutex(provider)
        self.collection = Mutex(collection.map { .told($0) } ?? .unknown)
    }

    /// Connects without a time limit. Each waiting caller has a deadline of its own.
    ///
    /// Calls that do not depend on each other's answers run at the same time: libsecret is loaded while the bus greets,
    /// and the default collection and the keyring's name are requested together with the session, after the keyring has
    /// noted this caller.
    ///
    /// - Parameters:
    ///   - startsKeyring: Whether the bus may start a keyring if none runs.
    ///   - changed: Called on the link's thread for each signal of the keyring, and with `nil` when the link can no
    ///     longer be used.
    /// - Throws: The errors that ``AuthenticationError/fromKeyring(_:)`` translates.
    static func open(
        _ settings: KeyringSettings,
        startsKeyring: Bool,
        changed: @escaping @Sendable (BusConnection.Signal?) -> Void
    ) async throws -> KeyringLink {
        let thread = try await GLibThread.running(library: settings.gioLibrary)
        let connected = (settings.busAddress ?? SessionBus.address()).map { BusConnection.connect(to: $0, on: thread) }
        try await SecretSession.load(settings.secretLibrary, on: thread).value()
        guard let connected else { throw AuthenticationError.keyring(.keyringNoSessionBus) }
        let bus: BusConnection
        do {
            bus = try await connected.value()
        } catch let failure as GLibFailure {
            throw AuthenticationError.keyring(
                KeyringProblem(failure) == .accessDenied ? .keyringAccessDenied : .keyringNoSessionBus,
                failure
            )
        }
        let end = End()
        let reach: @Sendable () -> Void = {
            end.isReached.withLock { $0 = true }
            changed(nil)
        }
        bus.whenClosed(reach)
        bus.subscribe(to: service) { changed($0) }
        // An owner that comes is the answer to our first call; one that goes takes the session along.
        bus.whenOwnerLeaves(service, reach)
        let timeout = Duration.seconds(600)
        try await introduce(on: bus, startsKeyring, within: timeout)
        // Whoever needs the collection and does not have it asks again, and is told what is wrong.
        let collection = ScopedTask { try await defaultCollection(on: bus, within: timeout) }
        let named = ScopedTask { await provider(on: bus, within: timeout) }
        let session: SecretSession
        do {
            session = try await SecretSession.open(on: bus, within: timeout)
        } catch let failure as GLibFailure {
            throw failure.during("Service.OpenSession", of: try? await named.value())
        }
        return await KeyringLink(
            bus: bus,
            session: session,
            collection: try? collection.value(),
            provider: try? named.value(),
            end: end
        )
    }

    /// Sends a call that needs no state of this caller, and waits for the answer. An error that shows a running keyring
    /// is enough.
    ///
    /// GNOME Keyring (seen in 42.1 and 50.0) notes a new caller in parallel with its first call, and sometimes too late
    /// for it. If that call opens a session, the daemon ends, and comes back locked. If it asks for the default
    /// collection, the answer is that there is none.
    private static func introduce(on bus: BusConnection, _ startsKeyring: Bool, within timeout: Duration) async throws {
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
            case .locked, .noSuchObject, .other: break
            }
        }
    }

    /// Whether calls may be made.
    var isUsable: Bool { !end.isReached.withLock { $0 } }

    /// Whether the keyring leaves calls unanswered at this time.
    var isSilent: Bool { silence.withLock { $0 } }

    /// Gives the link up.
    func retire() {
        end.isReached.withLock { $0 = true }
    }

    /// Notes that a call was not answered in time, and finds out when the keyring answers again.
    func suspectSilence() {
        let isNew = silence.withLock { isSilent in
            defer { isSilent = true }
            return !isSilent
        }
        guard isNew else { return }
        Task {
            // Answer or error: somebody is there.
            _ = try? await call(
                "ReadAlias",
                of: "Service",
                at: Self.root,
                "('default',)",
                "(o)",
                within: .seconds(3600)
            )
            silence.withLock { $0 = false }
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
