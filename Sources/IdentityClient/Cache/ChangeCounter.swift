// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

/// The number of the changes under one of the ``SharedLocks``: the length of its file, which only grows. The number is
/// odd from before a change until the change is complete.
package final class ChangeCounter: Sendable {
    private let file: Descriptor

    init(_ file: consuming Descriptor) {
        self.file = file
    }

    /// The current number, read with one `fstat`. `nil` if memory cannot be trusted or added to: a change is under way,
    /// or its writer died before it ended, or other processes use another file by now.
    package var value: Int? {
        // If the file's length cannot be read, nothing is trusted.
        guard let number = try? file.namedLength(), number.isMultiple(of: 2) else { return nil }
        return number
    }

    /// Whether the file is still the file that other processes use.
    var isCurrent: Bool {
        // A file whose length cannot be read is no longer in use.
        (try? file.namedLength()) != nil
    }
}

/// The numbers of a group's counters at one time.
package struct ChangeCounts: Sendable {
    private let counts: [(counter: ChangeCounter, value: Int?)]

    init(_ counts: [(ChangeCounter, Int?)]) {
        self.counts = counts
    }

    /// Returns the counter for changes of `key`, which belongs to the group, and its number at that time.
    package func count(for key: CacheKey) throws -> (counter: ChangeCounter, value: Int?) {
        counts[try SharedLocks.stripe(of: key)]
    }

    /// Whether nothing has changed since. Costs one `fstat` for each counter.
    package var areCurrent: Bool {
        counts.allSatisfy { $0.value != nil && $0.counter.value == $0.value }
    }
}
