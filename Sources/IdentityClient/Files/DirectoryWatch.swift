// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Dispatch
import Glibc
import Synchronization

/// Tells which files are renamed into, out of or removed from a directory, whether it exists yet or not.
///
/// While it does not, the directory above that exists is watched for the next one on the way.
final class DirectoryWatch: Sendable {
    private struct State {
        /// The one directory that is watched.
        var watch: Int32?
        /// The name whose appearance in it is awaited; `nil` in the directory itself.
        var awaited: String?
    }

    private static let inDirectory = IN_MOVED_TO | IN_MOVED_FROM | IN_DELETE
    private static let above = IN_MOVED_TO | IN_CREATE
    private static let itself = IN_DELETE_SELF | IN_MOVE_SELF
    private static let gone = itself | IN_IGNORED | IN_UNMOUNT

    /// The directories on the way, from `/` to the one that matters.
    private let way: [String]
    private let inotify: Inotify
    private let state = Mutex(State())
    /// What became of the directory's files, or `nil` when it can no longer be watched.
    private let report: @Sendable ([String]?) -> Void

    /// Names the directory; nothing is watched before ``begin()``.
    ///
    /// - Parameter report: Called on a queue, never at the same time twice.
    init(_ path: String, report: @escaping @Sendable ([String]?) -> Void) throws {
        var way = ["/"]
        for part in path.split(separator: "/") { way.append((way.count > 1 ? way[way.count - 1] : "") + "/\(part)") }
        self.way = way
        self.report = report
        inotify = try Inotify()
    }

    /// What calls `report`. It keeps this object alive until it is cancelled, and has to be.
    func start() -> any DispatchSourceRead {
        let queue = DispatchQueue(label: "identity-client.file-cache.changes")
        let source = inotify.source(on: queue) { self.readEvents() }
        source.activate()
        return source
    }

    /// Watches: what happens after this is reported.
    func begin() throws {
        try state.withLock { try arm(&$0) }
    }

    /// Watches no longer.
    func end() {
        state.withLock { state in
            if let watch = state.watch { inotify.end(watch) }
            state = State()
        }
    }

    private func readEvents() {
        var names: [String] = []
        var isLost = false
        do {
            for event in inotify.events() {
                let (watch, awaited) = state.withLock { ($0.watch, $0.awaited) }
                if event.isAny(of: IN_Q_OVERFLOW) {
                    isLost = true
                } else if event.watch != watch {
                    continue  // of a directory that was watched before
                } else if event.isAny(of: Self.gone) || (awaited != nil && event.name == awaited) {
                    try state.withLock { try arm(&$0) }
                    isLost = true
                } else if awaited == nil {
                    names.append(event.name)
                }
            }
            // What happened before the directory was watched, or was too much to tell.
            if isLost, state.withLock({ $0.awaited == nil }), let directory = way.last {
                names += try Descriptor.directory(directory)?.names() ?? []
            }
        } catch {
            return report(nil)
        }
        if !names.isEmpty { report(names) }
    }

    /// Watches the directory, or the nearest one above it that exists.
    private func arm(_ state: inout State) throws {
        if let watch = state.watch { inotify.end(watch) }
        state.watch = nil
        // Each round but the last ends because a directory came or went meanwhile.
        for _ in 0..<32 {
            for index in way.indices.reversed() {
                let isLast = index == way.count - 1
                // The cache refuses links in its own two directories; above them, they are the system's business.
                let links = index >= way.count - 2 ? IN_DONT_FOLLOW : 0
                let flags = (isLast ? Self.inDirectory : Self.above) | Self.itself | links
                guard let watch = try inotify.watch(way[index], for: flags) else { continue }
                if isLast {
                    // The system follows a link in the middle of a path.
                    let parent = try? SystemCall.status(of: way[max(0, index - 1)], followingLinks: false)
                    if parent?.kind == .directory {
                        state = State(watch: watch, awaited: nil)
                        return
                    }
                    inotify.end(watch)
                    continue
                }
                let next = way[index + 1]
                let status = try? SystemCall.status(of: next, followingLinks: index < way.count - 3)
                if status?.kind != .directory {
                    state = State(watch: watch, awaited: String(next.split(separator: "/").last ?? ""))
                    return
                }
                inotify.end(watch)
                break
            }
        }
        throw SystemCallError("inotify_add_watch", way.last ?? "/", number: ENOENT)
    }
}
