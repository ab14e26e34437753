// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Dispatch
import Glibc
import Synchronization

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
