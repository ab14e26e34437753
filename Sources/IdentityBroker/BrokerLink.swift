// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import GLibSupport
import IdentityClient
import Synchronization
import SystemSupport

/// A connection to the broker that runs now, for the calls of one operation.
///
/// Calls go to the connection that owned the broker's name when the link was opened, so that no other program that takes
/// the name gets them. If the owner gives the name up, a call that waits ends at once.
final class BrokerLink: Sendable {
    static let service = "com.microsoft.identity.broker1"
    private static let path = "/com/microsoft/identity/broker1"
    private static let interface = "com.microsoft.identity.Broker1"
    private static let bus = (name: "org.freedesktop.DBus", path: "/org/freedesktop/DBus")

    private struct State {
        var hasEnded = false
        var waiting: Promise<Variant>?
    }

    private let connection: BusConnection
    /// The unique name of the broker's connection.
    private let owner: String
    private let state: SharedState

    /// The state, which the connection's subscriptions keep.
    private final class SharedState: Sendable {
        let value = Mutex(State())

        @Sendable func end() {
            let waiting = value.withLock { state in
                state.hasEnded = true
                return state.waiting
            }
            waiting?.finish(.failure(BrokerLeft()))
        }
    }

    private init(_ connection: BusConnection, owner: String, _ state: SharedState) {
        self.connection = connection
        self.owner = owner
        self.state = state
    }

    /// Connects to the bus, which starts the broker if it is not running.
    static func open(_ settings: BrokerSettings) async throws -> BrokerLink {
        let thread = try await GLibThread.running(library: settings.library)
        guard let address = settings.busAddress ?? MessageBus.session() else { throw NoSessionBus() }
        let connection = try await BusConnection.connect(to: address, on: thread).value()
        let state = SharedState()
        connection.whenClosed(state.end)
        _ = try await ask("StartServiceByName", "('\(service)', uint32 0)", "(u)", connection, settings.patience)
        // Before the owner is asked for, so that no change is missed.
        connection.whenOwnerLeaves(service, state.end)
        let owner = try await ask("GetNameOwner", "('\(service)',)", "(s)", connection, settings.patience)[0]?.text
        guard let owner, owner.hasPrefix(":") else { throw BrokerLeft() }
        return BrokerLink(connection, owner: owner, state)
    }

    private static func ask(
        _ method: String,
        _ arguments: String,
        _ type: String,
        _ connection: BusConnection,
        _ timeout: Duration
    ) async throws -> Variant {
        try await connection.call(
            method,
            of: bus.name,
            at: bus.path,
            in: bus.name,
            arguments,
            returning: type,
            timeout: timeout
        )
    }

    /// Calls a method of the broker. A cancelled task stops waiting.
    func call(_ message: BrokerMessage, _ correlationID: UUID, timeout: Duration) async throws -> BrokerReply {
        let words = [BrokerMessage.protocolVersion, correlationID.uuidString.lowercased(), message.text]
        let answer = try await untilTheOwnerLeaves { [self] in
            try await connection.call(
                message.method,
                of: Self.interface,
                at: Self.path,
                in: owner,
                "(\(words.map(BusConnection.quoted).joined(separator: ", ")))",
                returning: "(s)",
                timeout: timeout
            )
        }
        return try BrokerReply(answer[0]?.text ?? "", correlationID: correlationID)
    }

    /// The name under which the broker's program logs, if it tells it.
    func product(timeout: Duration) async throws -> String? {
        let answer = try await untilTheOwnerLeaves { [self] in
            try await connection.call(
                "Get",
                of: "org.freedesktop.DBus.Properties",
                at: "/org/freedesktop/LogControl1",
                in: owner,
                "('org.freedesktop.LogControl1', 'SyslogIdentifier')",
                returning: "(v)",
                timeout: timeout
            )
        }
        return answer[0]?.content?.text
    }

    private func untilTheOwnerLeaves(_ work: @escaping @Sendable () async throws -> Variant) async throws -> Variant {
        let answer = Promise<Variant>()
        let hasEnded = state.value.withLock { state in
            state.waiting = answer
            return state.hasEnded
        }
        guard !hasEnded else { throw BrokerLeft() }
        let call = Task { await answer.finish(by: work) }
        defer {
            call.cancel()
            state.value.withLock { $0.waiting = nil }
        }
        return try await answer.value()
    }
}

/// The settings of the link, which tests change.
struct BrokerSettings: Sendable {
    /// The name of GIO's library.
    var library = MessageBus.library
    /// The bus, or `nil` for the session's.
    var busAddress: String?
    /// The longest time for an operation that asks no person.
    var patience = Duration.seconds(30)
}

/// The broker has given up its name or its connection.
struct BrokerLeft: Error {}

/// There is no session bus here.
struct NoSessionBus: Error {}
