// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Synchronization

/// The reserved files of a cache, by the keys of their records.
final class ReservedFiles<Key: Hashable & Sendable>: Sendable {
    private let files = Mutex<[(key: Key, file: ReservedFile)]>([])

    /// Keeps a file until the next write under `key`.
    ///
    /// - Parameter queue: The queue that removes the file if it is not used.
    func keep(_ file: ReservedFile, for key: Key, removingOn queue: QueueExecutor) -> any TokenCacheReservation {
        files.withLock { $0.append((key, file)) }
        return Reservation(self, file, queue)
    }

    /// Takes a file for a write under `key`, if there is one.
    func take(for key: Key) -> ReservedFile? {
        files.withLock { files in
            files.firstIndex { $0.key == key }.map { files.remove(at: $0).file }
        }
    }

    fileprivate func take(_ file: ReservedFile) -> ReservedFile? {
        files.withLock { files in
            files.firstIndex { $0.file === file }.map { files.remove(at: $0).file }
        }
    }
}

/// One reserved file, for its caller. It holds no file, so that the space of a file that was used is the record's alone.
private final class Reservation<Key: Hashable & Sendable>: TokenCacheReservation {
    private let files: ReservedFiles<Key>
    private weak let file: ReservedFile?
    private let queue: QueueExecutor

    init(_ files: ReservedFiles<Key>, _ file: ReservedFile, _ queue: QueueExecutor) {
        (self.files, self.file, self.queue) = (files, file, queue)
    }

    func release() async {
        guard let file = file.flatMap({ files.take($0) }) else { return }
        // Removing cannot throw, and the queue throws nothing of its own.
        try? await queue.run { file.remove() }
    }

    deinit {
        guard let file = file.flatMap({ files.take($0) }) else { return }
        queue.start { file.remove() }
    }
}
