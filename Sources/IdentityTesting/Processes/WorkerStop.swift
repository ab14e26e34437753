// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import IdentityClient
import Synchronization

/// A point at which a worker stops: it dies, or it reports the point and waits for the signal to go on.
final class WorkerStop: Sendable {
    static let mark = "paused"

    let point: CrashPoint?
    private let isDeath: Bool
    private let isReached = Mutex(false)
    private let order = Promise<Void>()

    init(_ orders: WorkerOrders) {
        point = (orders.crash ?? orders.pause).flatMap(CrashPoint.init)
        isDeath = orders.crash != nil
    }

    /// Stops the first time only, because returning the lease writes it again.
    func reach() async throws {
        if isDeath { CrashPoint.die() }
        let isFirst = isReached.withLock { isReached in
            defer { isReached = true }
            return !isReached
        }
        guard isFirst else { return }
        TokenCacheWorker.say(Self.mark)
        try await order.value(within: .seconds(45), for: "the order to go on")
    }

    func goOn() { order.fulfil() }
}
