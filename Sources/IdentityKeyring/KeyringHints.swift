// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import GLibSupport
import IdentityClient
import Synchronization

/// Turns the keyring's signals into hints, and keeps memory honest by them.
final class KeyringHints: Sendable {
    private typealias Listener = AsyncStream<CacheKey>.Continuation

    private struct State {
        weak var connector: KeyringConnector?
        var subscribers: [Int: (group: CacheGroup, continuation: Listener)] = [:]
        var lastSubscriber = 0
        /// Items whose keys are being asked for: some keyrings send dozens of signals for one change.
        var asked: Set<String> = []
        /// Waits for a keyring, while there is none.
        var waiting: Task<Void, Never>?
    }

    /// How long one who begins to listen hears of the removal only of items that were read.
    private static let moment = Duration.seconds(1)

    private let memory: KeyringMemory
    private let state = Mutex(State())

    init(_ memory: KeyringMemory) {
        self.memory = memory
    }

    deinit {
        state.withLock { state in
            state.waiting?.cancel()
            for (_, continuation) in state.subscribers.values { continuation.finish() }
        }
    }

    /// The way to the keyring; set once, before the first signal.
    var connector: KeyringConnector? {
        get { state.withLock { $0.connector } }
        set { state.withLock { $0.connector = newValue } }
    }

    /// - Parameter others: The changes in `group` outside of the keyring.
    func stream(of group: CacheGroup, and others: AsyncStream<CacheKey>?) -> AsyncStream<CacheKey> {
        let (stream, continuation) = AsyncStream.makeStream(of: CacheKey.self, bufferingPolicy: .bufferingNewest(64))
        let number = state.withLock { state in
            state.lastSubscriber += 1
            state.subscribers[state.lastSubscriber] = (group, continuation)
            return state.lastSubscriber
        }
        let forwarding = others.map { others in
            Task {
                for await key in others { continuation.yield(key) }
            }
        }
        let learning = Task { [weak self] in
            // Who listens for a moment only, as a wait for a refresh does, spares the keyring the question.
            if self?.connector?.isListening == true { try await Task.sleep(for: Self.moment) }
            if await self?.learn(group) == false { self?.comeBack() }
        }
        continuation.onTermination = { [weak self] _ in
            forwarding?.cancel()
            learning.cancel()
            self?.remove(number)
        }
        return stream
    }

    private func remove(_ subscriber: Int) {
        state.withLock { state in
            state.subscribers[subscriber] = nil
            guard state.subscribers.isEmpty else { return }
            state.waiting?.cancel()
            state.waiting = nil
        }
    }

    /// Waits for a keyring while there are listeners, after the old one has gone or before there is one. Does not start
    /// a keyring, because it would replace one that is just coming back.
    private func comeBack() {
        state.withLock { state in
            guard state.waiting == nil, !state.subscribers.isEmpty, let connector = state.connector else { return }
            state.waiting = Task { [weak self, weak connector] in
                var pause = Duration.milliseconds(100)
                while !Task.isCancelled {
                    do {
                        try await connector?.waitForKeyring()
                        guard await self?.isBack() == false else { return }
                    } catch {
                        // There is no bus, which is tried again as a keyring is that cannot be used.
                    }
                    try? await Task.sleep(for: pause)  // A pause that ends early ends the loop.
                    pause = min(pause * 2, .seconds(10))
                }
            }
        }
    }

    /// Whether there is nothing left to wait for; those who listen are told that anything may have changed.
    private func isBack() async -> Bool {
        let groups = state.withLock { Set($0.subscribers.values.map(\.group)) }
        for group in groups {
            guard await learn(group) else { return false }
        }
        state.withLock { $0.waiting = nil }
        for group in groups { memory.knownKeys(in: group).forEach(tell) }
        // It may have gone again before anybody could note it.
        if connector?.isListening == false { comeBack() }
        return true
    }

    /// Handles a signal; `nil` means that no more signals will come.
    func receive(_ signal: BusConnection.Signal?) {
        guard let signal else {
            memory.invalidateAll()
            return comeBack()
        }
        switch (signal.interface, signal.member) {
        case ("org.freedesktop.Secret.Collection", "ItemCreated"), ("org.freedesktop.Secret.Collection", "ItemChanged"),
            ("org.freedesktop.Secret.Collection", "ItemDeleted"):
            guard let path = signal.parameters[0]?.text else { return }
            if let key = memory.invalidate(path, isStored: signal.member == "ItemCreated") {
                tell(key)
            } else if signal.member != "ItemDeleted" {
                ask(path)
            }
        case ("org.freedesktop.Secret.Service", _): memory.invalidateAll()
        case ("org.freedesktop.DBus.Properties", "PropertiesChanged"):
            // A signal's type is whatever its sender made it.
            guard signal.parameters.has(type: "(sa{sv}as)"),
                signal.parameters[1]?.parts.contains(where: { $0[0]?.text == "Locked" }) ?? false
            else { return }
            memory.invalidateAll()
        default: return
        }
    }

    private func tell(_ key: CacheKey) {
        let listeners = state.withLock { state in
            state.subscribers.values.filter { $0.group == key.group }.map(\.continuation)
        }
        for listener in listeners { listener.yield(key) }
    }

    /// Finds out whose item lies at `path`, if anybody wants to know.
    private func ask(_ path: String) {
        let (groups, connector) = state.withLock { state -> ([CacheGroup], KeyringConnector?) in
            guard !state.subscribers.isEmpty, state.asked.insert(path).inserted else { return ([], nil) }
            return (state.subscribers.values.map(\.group), state.connector)
        }
        guard let connector else { return }
        Task { [weak self] in
            // A hint that is lost costs time, never correctness.
            let timeout = connector.settings.readTimeout
            let key = try? await connector.link(startsKeyring: false).key(of: path, in: groups, within: timeout)
            guard let self else { return }
            _ = state.withLock { $0.asked.remove(path) }
            guard let key else { return }
            memory.note(key, at: path)
            tell(key)
        }
    }

    /// Learns which items a group has, so that their removal can be told.
    /// - Returns: Whether the keyring's signals are heard from now on.
    private func learn(_ group: CacheGroup) async -> Bool {
        guard let connector else { return true }
        let memory = memory
        // A hint that is lost costs time, never correctness.
        try? await connector.bounded(by: connector.settings.readTimeout) {
            let timeout = connector.settings.readTimeout
            let link = try await connector.link(startsKeyring: false)
            guard try await link.isSilentlySearched(within: timeout) else { return }
            let paths = try await link.paths(with: KeyringAttributes.group(group), within: timeout).unlocked
            for found in try await link.secrets(of: paths.filter { !memory.knows($0) }, within: timeout) {
                guard let item = KeyringItem(secret: found.secret) else { continue }
                memory.note(
                    CacheKey(group: group, kind: CacheKey.Kind(rawValue: item.kind), name: item.name),
                    at: found.path
                )
            }
        }
        return connector.isListening
    }
}
