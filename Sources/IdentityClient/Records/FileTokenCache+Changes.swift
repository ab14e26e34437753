// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Dispatch
import Glibc
import Synchronization
import SystemSupport

extension FileTokenCache {
    /// Returns the keys in `group` whose files change from now on, in this process or another. A reader that falls
    /// behind gets the newest 64.
    ///
    /// Linux reports changes by inotify, within milliseconds. Changes on other computers that share the directory are
    /// not reported. The streams of a group share one watch, which ends with the last stream; all streams end with this
    /// object. The watch is set on the caller's thread, in microseconds, so that no change is missed after this call
    /// returns.
    ///
    /// - Returns: `nil` until the first write creates the group's directory, and if the system has no watch left, for
    ///   example because the user's programs have too many. If the directory is removed or moved, the stream ends.
    public func changes(in group: CacheGroup) -> AsyncStream<CacheKey>? {
        // Every other call says why the directory cannot be used.
        guard let directory = try? SecureDirectory.open(self.directory(), group.name) else { return nil }
        return hints.changes(in: group, at: directory.path)
    }

    /// Returns the changes of ``changes(in:)`` and those that ``hint(at:)`` announces.
    package func changesHereAndElsewhere(in group: CacheGroup) -> AsyncStream<CacheKey>? {
        // Without the directory there are no hints. If it cannot be created, every other call says why.
        if let root = try? self.directory() { try? SecureDirectory.create(root, group.name) }
        return changes(in: group)
    }

    /// Announces a change of a record that is stored elsewhere under `key`, by creating and removing a file of its
    /// name.
    ///
    /// - Throws: The errors of ``replace(_:with:for:)``.
    package func hint(at key: CacheKey) async throws {
        let (root, name) = (try directory(), try FileCacheName.record(key))
        try await readers.doing {
            guard let directory = try SecureDirectory.open(root, key.group.name) else { return }
            _ = try directory.lockFile(name)
            try directory.remove(name)
        }
    }
}

/// The streams of hints that a ``FileTokenCache`` has returned, and the watches that feed them.
final class FileHints: Sendable {
    private typealias Listener = AsyncStream<CacheKey>.Continuation

    /// A group's watch. It stays with the cache while it has no listeners: creating and closing it costs the system
    /// more than keeping it.
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

    /// The number of watched directories.
    var watchCount: Int { state.withLock { $0.channels.values.count { !$0.listeners.isEmpty } } }

    func changes(in group: CacheGroup, at path: String) -> AsyncStream<CacheKey>? {
        let (stream, listener) = AsyncStream.makeStream(of: CacheKey.self, bufferingPolicy: .bufferingNewest(64))
        // Every failure means no hints: the reader polls.
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

    /// Ends the streams of a group, because its changes can no longer be observed.
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

/// Reports files that are renamed into, renamed out of or removed from a directory.
final class DirectoryWatch: Sendable {
    private static let itself = IN_DELETE_SELF | IN_MOVE_SELF
    private static let awaited = IN_MOVED_TO | IN_MOVED_FROM | IN_DELETE | itself | IN_DONT_FOLLOW
    private static let gone = itself | IN_IGNORED | IN_UNMOUNT

    private let path: String
    private let inotify: Inotify
    private let watch = Mutex<Int32?>(nil)
    /// Gets the names of changed files, or `nil` if the directory can no longer be watched.
    private let report: @Sendable ([String]?) -> Void

    /// Creates a watch; it starts with ``begin()``.
    ///
    /// - Parameter report: Called on a queue, one call at a time.
    init(_ path: String, report: @escaping @Sendable ([String]?) -> Void) throws {
        self.path = path
        self.report = report
        inotify = try Inotify()
    }

    /// Returns the source that calls `report`. It keeps this object alive until you cancel it, which you must do.
    func start() -> any DispatchSourceRead {
        let queue = DispatchQueue(label: "identity-client.file-cache.changes")
        let source = inotify.source(on: queue) { self.readEvents() }
        source.activate()
        return source
    }

    /// Starts the watch: later changes are reported.
    func begin() throws {
        try watch.withLock { watch in
            watch = try inotify.watch(path, for: Self.awaited)
            if watch == nil { throw SystemCallError("inotify_add_watch", path, number: ENOENT) }
        }
    }

    /// Ends the watch.
    func end() {
        watch.withLock { watch in
            if let number = watch { inotify.end(number) }
            watch = nil
        }
    }

    private func readEvents() {
        let events = inotify.events()
        let watch = watch.withLock { $0 }
        var names: [String] = []
        var isGone = false
        for event in events {
            if event.isAny(of: IN_Q_OVERFLOW) {
                // Changes were lost. A directory that cannot be read is gone, which has an event of its own.
                names += (try? Descriptor.directory(path)?.names()) ?? []
            } else if event.watch != watch {
                continue  // of a watch that was ended before
            } else if event.isAny(of: Self.gone) {
                isGone = true
            } else {
                names.append(event.name)
            }
        }
        if !names.isEmpty { report(names) }
        if isGone { report(nil) }
    }
}
