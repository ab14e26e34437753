// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Synchronization

/// A record's file, kept open: asking it whether it changed takes a third of the time of looking up its path.
///
/// Replacing or removing the file takes its only name away, writing to it changes its times, and its inode is not
/// reused while it is open. The open file cannot tell whether its path leads elsewhere, because a directory was moved
/// away or another file system was mounted over it. So its answers are trusted for a second; then the path is looked
/// up.
package final class HeldFile: Sendable {
    private let file: Descriptor
    private let fingerprint: FileFingerprint
    /// The time at which the path last led to this file.
    private let found: Atomic<Int64>

    /// Opens the file that `path` led to at `now`; returns `nil` if the path leads to another file by now or the file
    /// cannot be opened.
    package init?(_ path: String, _ fingerprint: FileFingerprint, foundAt now: CoarseTime) {
        guard let file = try? Descriptor.unread(path) else { return nil }  // then its path is asked, as before
        self.file = file
        self.fingerprint = fingerprint
        found = Atomic(now.nanoseconds)
        guard isUnchanged else { return nil }
    }

    /// Whether the file is as it was when it was read, and still has a name. Costs one system call.
    package var isUnchanged: Bool {
        file.isUnchanged(since: fingerprint)
    }

    /// Returns whether the path led to this file less than a second ago.
    package func isSure(at now: CoarseTime) -> Bool {
        age(at: now) < 1_000_000_000
    }

    /// Returns whether the file was not requested lately.
    package func isIdle(at now: CoarseTime) -> Bool {
        age(at: now) > 10_000_000_000
    }

    /// Records that the path led to this file at `now`.
    package func wasFound(at now: CoarseTime) {
        found.store(now.nanoseconds, ordering: .relaxed)
    }

    private func age(at now: CoarseTime) -> Int64 {
        now.nanoseconds - found.load(ordering: .relaxed)
    }
}
