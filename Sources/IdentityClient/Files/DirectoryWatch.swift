// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Dispatch
import Glibc
import Synchronization

/// Reports files that are renamed into, renamed out of or removed from a directory, which may not exist yet.
///
/// Until it exists, the nearest existing directory above is watched for the next directory on the way.
final class DirectoryWatch: Sendable {
    private struct State {
        /// The watched directory.
        var watch: Int32?
        /// The awaited name in the watched directory; `nil` if this is the directory itself.
        var awaited: String?
    }

    private static let inDirectory = IN_MOVED_TO | IN_MOVED_FROM | IN_DELETE
    private static let above = IN_MOVED_TO | IN_CREATE
    private static let itself = IN_DELETE_SELF | IN_MOVE_SELF
    private static let gone = itself | IN_IGNORED | IN_UNMOUNT

    /// The directories on the way, from `/` to the directory itself.
    private let way: [String]
    private let inotify: Inotify
    private let state = Mutex(State())
    /// Gets the names of changed files, or `nil` if the directory can no longer be watched.
    private let report: @Sendable ([String]?) -> Void

    /// Creates a watch; it starts with ``begin()``.
    ///
    /// - Parameter report: Called on a queue, one call at a time.
    init(_ path: String, report: @escaping @Sendable ([String]?) -> Void) throws {
        var way = ["/"]
        for part in path.split(separator: "/") { way.append((way.count > 1 ? way[way.count - 1] : "") + "/\(part)") }
        self.way = way
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
        try state.withLock { try arm(&$0) }
    }

    /// Ends the watch.
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
            // Changes before the watch began, or too many changes for the kernel's queue.
            if isLost, state.withLock({ $0.awaited == nil }), let directory = way.last {
                names += try Descriptor.directory(directory)?.names() ?? []
            }
        } catch {
            return report(nil)
        }
        if !names.isEmpty { report(names) }
    }

    /// Watches the directory, or the nearest existing directory above.
    private func arm(_ state: inout State) throws {
        if let watch = state.watch { inotify.end(watch) }
        state.watch = nil
        // Each round except the last ends because a directory appeared or disappeared meanwhile.
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
