// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Synchronization

/// A record's file, kept open: to ask it whether it changed takes a third of the time that looking up its path takes.
///
/// Whoever replaces or removes the file takes its only name away, whoever writes to it changes its times, and its inode
/// is not used again while it is open. What it cannot tell is that its path leads elsewhere, because a directory was
/// moved away or something mounted over it. So its answers count for a second, and then the path is looked up.
final class HeldFile: Sendable {
    private let file: Descriptor
    private let fingerprint: FileFingerprint
    /// When the path last led to it.
    private let found: Atomic<Int64>

    /// Opens the file that `path` led to at `now`; `nil` when there is another one by then, or it cannot be opened.
    init?(_ path: String, _ fingerprint: FileFingerprint, foundAt now: CoarseTime) {
        guard let file = try? Descriptor.unread(path) else { return nil }  // then its path is asked, as before
        self.file = file
        self.fingerprint = fingerprint
        found = Atomic(now.nanoseconds)
        guard isUnchanged else { return nil }
    }

    /// Whether it is as it was when it was read, and still has a name. One call to the system.
    var isUnchanged: Bool {
        file.isUnchanged(since: fingerprint)
    }

    /// Whether the path led to it less than a second ago.
    func isSure(at now: CoarseTime) -> Bool {
        age(at: now) < 1_000_000_000
    }

    /// Whether nobody has asked for it lately.
    func isIdle(at now: CoarseTime) -> Bool {
        age(at: now) > 10_000_000_000
    }

    /// Takes note that the path led to it.
    func wasFound(at now: CoarseTime) {
        found.store(now.nanoseconds, ordering: .relaxed)
    }

    private func age(at now: CoarseTime) -> Int64 {
        now.nanoseconds - found.load(ordering: .relaxed)
    }
}
