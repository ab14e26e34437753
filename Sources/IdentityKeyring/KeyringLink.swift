// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import GLibSupport
import IdentityClient
import Synchronization

/// One connection to the keyring: a thread, a private connection to the bus, a session, and libsecret on top.
///
/// It is not repaired: when the bus, the daemon or the session goes, a new link takes its place.
final class KeyringLink: Sendable {
    static let service = "org.freedesktop.secrets"
    static let root = "/org/freedesktop/secrets"

    private struct State {
        var isUsable = true
        /// A call was not answered in time, and its successor has not been answered yet.
        var isSilent = false
    }

    let bus: BusConnection
    let session: String
    let library: SecretLibrary
    /// What ``asksBeforeReplacing(within:)`` has found out.
    let replacing = Mutex<Bool?>(nil)
    private let state = Mutex(State())

    private init(bus: BusConnection, session: String, library: SecretLibrary) {
        self.bus = bus
        self.session = session
        self.library = library
    }

    /// Connects. Unbounded: whoever waits has a deadline of its own.
    ///
    /// - Parameter changed: Called, on the link's thread, for each signal of the keyring; with `nil` when the link is
    ///   of no more use.
    /// - Throws: What ``AuthenticationError/fromKeyring(_:)`` translates.
    static func open(
        _ settings: KeyringSettings,
        changed: @escaping @Sendable (BusConnection.Signal?) -> Void
    ) async throws -> KeyringLink {
        let thread = try await GLibThread.start(library: settings.gioLibrary)
        try await SecretLibrary.load(settings.secretLibrary, on: thread)
        guard let address = settings.busAddress ?? SessionBus.address() else {
            throw AuthenticationError.keyring(.keyringNoSessionBus)
        }
        let bus: BusConnection
        do {
            bus = try await BusConnection.connect(to: address, on: thread)
        } catch let failure as GLibFailure {
            throw AuthenticationError.keyring(
                KeyringProblem(failure) == .accessDenied ? .keyringAccessDenied : .keyringNoSessionBus,
                failure
            )
        }
        let end = EndOfLink(changed)
        bus.whenClosed { end.reach() }
        _ = try await bus.subscribe(to: service) { changed($0) }
        _ = try await bus.subscribe(
            to: "org.freedesktop.DBus",
            interface: "org.freedesktop.DBus",
            member: "NameOwnerChanged",
            firstArgument: service
        ) { signal in
            // An owner that comes is the answer to our first call; one that goes takes the session along.
            if signal.parameters[1]?.text?.isEmpty == false { end.reach() }
        }
        let prompts = LibraryPrompts(bus, timeout: settings.writeTimeout)
        async let library = SecretLibrary.open(bus, timeout: settings.writeTimeout) { prompts.run($0) }
        let opened = try await bus.call(
            "OpenSession",
            of: "org.freedesktop.Secret.Service",
            at: root,
            in: service,
            "('plain', <''>)",
            returning: "(vo)",
            timeout: .seconds(600)
        )
        let link = try await KeyringLink(bus: bus, session: opened[1]?.text ?? "/", library: library)
        end.watch(link)
        return link
    }

    /// Whether calls may be made.
    var isUsable: Bool { state.withLock { $0.isUsable } }

    /// Whether the keyring leaves calls unanswered at this time.
    var isSilent: Bool { state.withLock { $0.isSilent } }

    /// Gives the link up.
    func retire() {
        state.withLock { $0.isUsable = false }
    }

    /// Notes that a call was not answered in time, and finds out when the keyring answers again.
    func suspectSilence() {
        let isNew = state.withLock { state in
            defer { state.isSilent = true }
            return !state.isSilent
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
            state.withLock { $0.isSilent = false }
        }
    }

    /// Calls a method of the Secret Service.
    func call(
        _ method: String,
        of interface: String,
        at path: String,
        _ arguments: String? = nil,
        _ reply: String,
        within timeout: Duration
    ) async throws -> Variant {
        try await bus.call(
            method,
            of: interface.contains(".") ? interface : "org.freedesktop.Secret.\(interface)",
            at: path,
            in: Self.service,
            arguments,
            returning: reply,
            timeout: timeout
        )
    }
}

/// Tells once that a link has ended, even if that happens before there is a link.
private final class EndOfLink: Sendable {
    private struct State {
        var isReached = false
        weak var link: KeyringLink?
    }

    private let changed: @Sendable (BusConnection.Signal?) -> Void
    private let state = Mutex(State())

    init(_ changed: @escaping @Sendable (BusConnection.Signal?) -> Void) {
        self.changed = changed
    }

    func watch(_ link: KeyringLink) {
        let isReached = state.withLock { state in
            state.link = link
            return state.isReached
        }
        if isReached { link.retire() }
    }

    func reach() {
        let link = state.withLock { state in
            state.isReached = true
            return state.link
        }
        link?.retire()
        changed(nil)
    }
}
