// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import OAuthWire

/// The exclusive right to refresh one credential, and who holds it. No wall clock decides about it.
package struct RefreshLease: Hashable, Sendable {
    /// Tells one lease from the next.
    package var nonce: String
    /// How long the holder may keep it, in milliseconds.
    package var duration: Int64
    package var holder: ProcessIdentity
    /// When it ends, in milliseconds of the boot clock: only for whoever booted with the holder.
    package var deadline: Int64

    package init(nonce: String, duration: Int64, holder: ProcessIdentity, deadline: Int64) {
        self.nonce = nonce
        self.duration = duration
        self.holder = holder
        self.deadline = deadline
    }

    package init?(decoding record: CacheRecord) {
        guard let json = try? JSONObject(parsing: record.bytes),  // a damaged lease binds nobody
            let nonce = json.string("nonce"), let duration = json.roundedDown("duration"), duration > 0,
            let deadline = json.roundedDown("deadline"), let bootID = json.string("boot_id"),
            let namespace = json.string("pid_namespace"), let pid = json.integer("pid"),
            let start = json.string("start")
        else { return nil }
        let holder = ProcessIdentity(bootID: bootID, pidNamespace: namespace, pid: pid, startTime: start)
        self.init(nonce: nonce, duration: min(duration, Self.longest), holder: holder, deadline: deadline)
    }

    package func encoded() -> CacheRecord {
        var json = JSONObject()
        json["v"] = .integer(1)
        json["nonce"] = .string(nonce)
        json["duration"] = .integer(duration)
        json["deadline"] = .integer(deadline)
        json["boot_id"] = .string(holder.bootID)
        json["pid_namespace"] = .string(holder.pidNamespace)
        json["pid"] = .integer(holder.pid)
        json["start"] = .string(holder.startTime)
        return CacheRecord(bytes: json.serialized())
    }

    /// A lease that claims more is cut to this, so that a damaged or hostile one does not bind for ever.
    package static let longest: Int64 = 120_000
}

/// Names a process so that another one can tell whether it is still alive.
package struct ProcessIdentity: Hashable, Sendable {
    package var bootID: String
    package var pidNamespace: String
    package var pid: Int
    /// Ticks since boot; tells a process from a later one with the same number.
    package var startTime: String

    package init(bootID: String, pidNamespace: String, pid: Int, startTime: String) {
        self.bootID = bootID
        self.pidNamespace = pidNamespace
        self.pid = pid
        self.startTime = startTime
    }

    /// Whether process numbers mean the same to both.
    package func sees(_ other: ProcessIdentity) -> Bool {
        bootID == other.bootID && pidNamespace == other.pidNamespace && bootID != "unknown" && pidNamespace != "unknown"
    }
}

extension RefreshLease {
    /// What who waits for a lease knows.
    package struct Observation: Sendable {
        package var observer: ProcessIdentity
        /// Milliseconds of the observer's boot clock.
        package var bootTime: Int64
        /// How long the observer itself has seen this very lease, in milliseconds of its own monotonic clock.
        package var seenFor: Int64
        /// Whether the holder was found dead; only looked at where the observer can see it.
        package var holderIsDead: Bool

        package init(observer: ProcessIdentity, bootTime: Int64, seenFor: Int64, holderIsDead: Bool) {
            self.observer = observer
            self.bootTime = bootTime
            self.seenFor = seenFor
            self.holderIsDead = holderIsDead
        }
    }

    /// Whether the lease binds nobody any more and may be taken over.
    package func isOver(for observation: Observation) -> Bool {
        if observation.seenFor >= duration { return true }
        guard observation.observer.sees(holder) else { return false }
        return observation.holderIsDead || observation.bootTime >= deadline
    }
}
