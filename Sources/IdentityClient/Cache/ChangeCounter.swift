// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

/// The number of the changes under one of the ``SharedLocks``: the length of its file, which only grows. It is odd from
/// before something is changed until the change is known to be done.
package final class ChangeCounter: Sendable {
    private let file: Descriptor

    init(_ file: consuming Descriptor) {
        self.file = file
    }

    /// The number of now: one `fstat`. `nil` where nothing may be remembered, or believed that was: a change is under
    /// way, or whoever made it has died before its end, or others use another file by now.
    package var value: Int? {
        // What a file that cannot be asked says is not believed.
        guard let number = try? file.namedLength(), number.isMultiple(of: 2) else { return nil }
        return number
    }

    /// Whether the file is still the one that others use.
    var isCurrent: Bool {
        // A file that cannot be asked is no longer used.
        (try? file.namedLength()) != nil
    }
}

/// What the counters of a group said at one time.
package struct ChangeCounts: Sendable {
    private let counts: [(counter: ChangeCounter, value: Int?)]

    init(_ counts: [(ChangeCounter, Int?)]) {
        self.counts = counts
    }

    /// The counter of the changes of `key`, which is of the group, and its number of then.
    package func count(for key: CacheKey) throws -> (counter: ChangeCounter, value: Int?) {
        counts[try SharedLocks.stripe(of: key)]
    }

    /// Whether nothing was changed since: one `fstat` for each counter.
    package var areCurrent: Bool {
        counts.allSatisfy { $0.value != nil && $0.counter.value == $0.value }
    }
}
