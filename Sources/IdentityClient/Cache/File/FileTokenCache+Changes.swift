// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Dispatch
import Synchronization

extension FileTokenCache {
    /// The keys in `group` whose files change from now on, in this process or another; a reader that falls behind gets
    /// the newest 64.
    ///
    /// Linux tells of them by inotify, within milliseconds; changes on other computers that share the directory are not
    /// told. The streams of one group share one watch, which ends with the last of them; all end with this object. The
    /// watch is set on the caller's thread, in microseconds, so that nothing is missed after this returns.
    ///
    /// - Returns: `nil` when the system has no watch to give, as when all programs of the user have too many.
    public func changes(in group: CacheGroup) -> AsyncStream<CacheKey>? {
        guard let root = try? location.path() else { return nil }  // Every other call says why.
        return hints.changes(in: group, at: "\(root)/\(group.name)")
    }

    /// The same, and what ``hint(at:)`` hints at.
    package func changesHereAndElsewhere(in group: CacheGroup) -> AsyncStream<CacheKey>? {
        // Without the directory hints are not given. Where it cannot be made, every other call says why.
        if let root = try? location.path() { try? SecureDirectory.create(root, group.name) }
        return changes(in: group)
    }

    /// Hints at a change of what rests elsewhere under `key`, by a file of its name that comes and goes.
    ///
    /// - Throws: As ``replace(_:with:for:)``.
    package func hint(at key: CacheKey) async throws {
        let (root, name) = (try location.path(), try FileCacheName.record(key))
        try await readers.doing {
            guard let directory = try SecureDirectory.open(root, key.group.name) else { return }
            _ = try directory.lockFile(name)
            try directory.remove(name)
        }
    }
}

/// The streams of hints that a ``FileTokenCache`` has given out, and the watches they live on.
final class FileHints: Sendable {
    private typealias Listener = AsyncStream<CacheKey>.Continuation

    /// Stays with the cache, idle while nobody listens: making and closing them costs the system more than keeping.
    private struct Channel {
        var listeners: [Int: Listener] = [:]
        let watch: DirectoryWatch
        let source: any DispatchSourceRead
    }

    private struct State {
        var channels: [CacheGroup: Channel] = [:]
        var lastListener = 0
    }

    private let state = Mutex(State())

    deinit {
        for channel in state.withLock({ $0.channels.values }) {
            channel.source.cancel()
            for listener in channel.listeners.values { listener.finish() }
        }
    }

    /// How many directories are watched.
    var watchCount: Int { state.withLock { $0.channels.values.count { !$0.listeners.isEmpty } } }

    func changes(in group: CacheGroup, at path: String) -> AsyncStream<CacheKey>? {
        let (stream, listener) = AsyncStream.makeStream(of: CacheKey.self, bufferingPolicy: .bufferingNewest(64))
        // Every way on is without hints: the reader polls.
        guard let number = try? state.withLock({ try add(listener, to: group, at: path, in: &$0) }) else { return nil }
        listener.onTermination = { [weak self] _ in self?.remove(number, of: group) }
        return stream
    }

    private func add(_ listener: Listener, to group: CacheGroup, at path: String, in state: inout State) throws -> Int {
        var channel: Channel
        if let known = state.channels[group] {
            channel = known
        } else {
            let watch = try DirectoryWatch(path) { [weak self] names in self?.tell(names, of: group) }
            channel = Channel(watch: watch, source: watch.start())
            state.channels[group] = channel
        }
        if channel.listeners.isEmpty { try channel.watch.begin() }
        state.lastListener += 1
        channel.listeners[state.lastListener] = listener
        state.channels[group] = channel
        return state.lastListener
    }

    private func tell(_ names: [String]?, of group: CacheGroup) {
        guard let names else { return end(group) }
        let keys = names.compactMap { FileCacheName.key($0, group: group) }
        let listeners = state.withLock { $0.channels[group].map { Array($0.listeners.values) } ?? [] }
        for listener in listeners {
            for key in keys { listener.yield(key) }
        }
    }

    /// Nothing more can be said of the group: whoever listens is told so.
    private func end(_ group: CacheGroup) {
        let channel = state.withLock { $0.channels.removeValue(forKey: group) }
        channel?.source.cancel()
        for listener in channel?.listeners.values ?? [:].values { listener.finish() }
    }

    private func remove(_ number: Int, of group: CacheGroup) {
        state.withLock { state in
            guard let channel = state.channels[group], channel.listeners[number] != nil else { return }
            state.channels[group]?.listeners[number] = nil
            if channel.listeners.count == 1 { channel.watch.end() }
        }
    }
}
