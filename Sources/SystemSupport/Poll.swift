// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Glibc

/// The one place that calls poll(2).
package enum Poll {
    /// A descriptor and the events to wait for. Errors and hang-ups always count.
    package struct Awaited {
        let descriptor: Int32
        let events: Int32

        /// - Parameter events: `POLLIN`, `POLLOUT`, both or neither.
        package init(_ descriptor: Int32, _ events: Int32 = POLLIN) {
            self.descriptor = descriptor
            self.events = events
        }
    }

    /// Blocks until one of the descriptors is ready, or a signal comes.
    ///
    /// - Parameter deadline: The end of the wait; a time that is over only looks, and `nil` waits without end.
    /// - Returns: The events of each descriptor, in the same order; 0 for none.
    package static func wait(for awaited: [Awaited], until deadline: ContinuousClock.Instant?) -> [Int32] {
        var polled = awaited.map { pollfd(fd: $0.descriptor, events: Int16($0.events), revents: 0) }
        guard unsafe poll(&polled, nfds_t(polled.count), milliseconds(until: deadline)) > 0 else {
            return Array(repeating: 0, count: polled.count)
        }
        return polled.map { Int32($0.revents) }
    }

    /// Whether a descriptor is ready, or has an error or hang-up to tell, before `deadline`; by default, now.
    package static func isReady(
        _ descriptor: Int32,
        _ events: Int32 = POLLIN,
        before deadline: ContinuousClock.Instant = .now
    ) -> Bool {
        wait(for: [Awaited(descriptor, events)], until: deadline)[0] != 0
    }

    /// Rounded up, so that the time is over afterwards; an hour at most; -1 where there is no end.
    private static func milliseconds(until deadline: ContinuousClock.Instant?) -> Int32 {
        guard let deadline else { return -1 }
        let left = ContinuousClock.now.duration(to: deadline)
        guard left > .zero else { return 0 }
        return Int32(min(left, .seconds(3600)) / .milliseconds(1)) + 1
    }
}
