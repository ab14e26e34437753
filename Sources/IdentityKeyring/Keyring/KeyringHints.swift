// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import GLibSupport
import IdentityClient
import Synchronization

/// Turns the keyring's signals into hints, and invalidates memory by them.
final class KeyringHints: Sendable {
    private typealias Listener = AsyncStream<CacheKey>.Continuation

    private struct State {
        weak var connector: KeyringConnector?
        var listeners: [Int: (group: CacheGroup, continuation: Listener)] = [:]
        var lastListener = 0
        /// The paths of items whose keys are being asked for. Some keyrings send dozens of signals for one change.
        var pendingPaths: Set<String> = []
        /// The wait for a keyring, while none runs.
        var wait: Task<Void, Never>?
    }

    private let memory: KeyringMemory
    private let state = Mutex(State())

    init(_ memory: KeyringMemory) {
        self.memory = memory
    }

    deinit {
        state.withLock { state in
            state.wait?.cancel()
            for (_, continuation) in state.listeners.values { continuation.finish() }
        }
    }

    /// The connector of the cache; set once, before the first signal.
    var connector: KeyringConnector? {
        get { state.withLock { $0.connector } }
        set { state.withLock { $0.connector = newValue } }
    }

    /// Returns the keys in `group` that change from now on. The removal of an item is reported if the item was read before.
    /// - Parameter others: The changes in `group` outside of the keyring.
    func stream(of group: CacheGroup, and others: AsyncStream<CacheKey>?) -> AsyncStream<CacheKey> {
        let (stream, continuation) = AsyncStream.makeStream(of: CacheKey.self, bufferingPolicy: .bufferingNewest(64))
        let number = state.withLock { state in
            state.lastListener += 1
            state.listeners[state.lastListener] = (group, continuation)
            return state.lastListener
        }
        let forwarding = others.map { others in
            Task {
                for await key in others { continuation.yield(key) }
            }
        }
        let connecting = Task { [weak self] in
            if await self?.connect() == false { self?.waitForKeyring() }
        }
        continuation.onTermination = { [weak self] _ in
            forwarding?.cancel()
            connecting.cancel()
            self?.remove(number)
        }
        return stream
    }

    private func remove(_ listener: Int) {
        state.withLock { state in
            state.listeners[listener] = nil
            guard state.listeners.isEmpty else { return }
            state.wait?.cancel()
            state.wait = nil
        }
    }

    /// Waits for a keyring while there are listeners and none runs. Does not start a keyring, because that would take the
    /// place of a keyring that is restarting.
    private func waitForKeyring() {
        state.withLock { state in
            guard state.wait == nil, !state.listeners.isEmpty, let connector = state.connector else { return }
            state.wait = Task { [weak self, weak connector] in
                var pause = Duration.milliseconds(100)
                while !Task.isCancelled {
                    do {
                        try await connector?.waitForKeyring()
                        guard await self?.resume() == false else { return }
                    } catch {
                        // A missing bus is tried again, like a keyring that cannot be used.
                    }
                    try? await Task.sleep(for: pause)  // A pause that ends early ends the loop.
                    pause = min(pause * 2, .seconds(10))
                }
            }
        }
    }

    /// Listens to the keyring that runs now, and reports every known key as changed.
    /// - Returns: Whether the wait for a keyring is over.
    private func resume() async -> Bool {
        guard await connect() else { return false }
        let groups = state.withLock { state in
            state.wait = nil
            return Set(state.listeners.values.map(\.group))
        }
        for group in groups { memory.knownKeys(in: group).forEach(notify) }
        // The keyring may have ended again before `wait` was `nil`.
        if connector?.isListening == false { waitForKeyring() }
        return true
    }

    /// Handles a signal; `nil` means that no more signals will come.
    func receive(_ signal: BusConnection.Signal?) {
        guard let signal else {
            memory.invalidate()
            return waitForKeyring()
        }
        switch (signal.interface, signal.member) {
        case ("org.freedesktop.Secret.Collection", "ItemCreated"), ("org.freedesktop.Secret.Collection", "ItemChanged"),
            ("org.freedesktop.Secret.Collection", "ItemDeleted"):
            guard let path = signal.parameters[0]?.text else { return }
            memory.invalidate()
            if let key = memory.key(at: path) {
                notify(key)
            } else if signal.member != "ItemDeleted" {
                identify(path)
            }
        case ("org.freedesktop.Secret.Service", _): memory.invalidate()
        default:
            if signal.tellsOfLock { memory.invalidate() }
        }
    }

    private func notify(_ key: CacheKey) {
        let listeners = state.withLock { state in
            state.listeners.values.filter { $0.group == key.group }.map(\.continuation)
        }
        for listener in listeners { listener.yield(key) }
    }

    /// Asks for the key of the item at `path`, if there are listeners, and reports it as changed.
    private func identify(_ path: String) {
        let (groups, connector) = state.withLock { state -> ([CacheGroup], KeyringConnector?) in
            guard !state.listeners.isEmpty, state.pendingPaths.insert(path).inserted else { return ([], nil) }
            return (state.listeners.values.map(\.group), state.connector)
        }
        guard let connector else { return }
        Task { [weak self] in
            // A hint that is lost costs time, never correctness.
            let timeout = connector.settings.readTimeout
            let key = try? await connector.bounded(by: timeout) {
                try await connector.link(startsKeyring: false).key(of: path, in: groups, within: timeout)
            }
            guard let self else { return }
            _ = state.withLock { $0.pendingPaths.remove(path) }
            guard let key else { return }
            memory.note(key, at: path)
            notify(key)
        }
    }

    /// Opens the link over which the keyring's signals come. Starts no keyring.
    /// - Returns: Whether the signals are received from now on.
    private func connect() async -> Bool {
        guard let connector else { return true }
        // A hint that is lost costs time, never correctness.
        _ = try? await connector.bounded(by: connector.settings.readTimeout) {
            try await connector.link(startsKeyring: false)
        }
        return connector.isListening
    }
}

extension BusConnection.Signal {
    /// Whether a collection may have been locked or unlocked: some keyrings tell that it changed, others which property did.
    var tellsOfLock: Bool {
        switch (interface, member) {
        case ("org.freedesktop.Secret.Service", "CollectionChanged"): true
        // The sender chooses a signal's type.
        case ("org.freedesktop.DBus.Properties", "PropertiesChanged"):
            parameters.has(type: "(sa{sv}as)")
                && parameters[1]?.parts.contains { $0[0]?.text == "Locked" } ?? false
        default: false
        }
    }
}
