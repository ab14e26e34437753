// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import OAuthWire

extension RefreshLease {
    package init?(decoding record: CacheRecord) {
        guard let json = try? JSONObject(parsing: record.bytes),  // a damaged lease binds nobody
            let nonce = json.string("nonce"), let duration = json.roundedDown("duration"), duration > 0,
            let deadline = json.roundedDown("deadline"), let bootID = json.string("boot_id"),
            let namespace = json.string("pid_namespace"), let pid = json.integer("pid"),
            let start = json.string("start")
        else { return nil }
        let holder = ProcessIdentity(bootID: bootID, pidNamespace: namespace, pid: pid, startTime: start)
        self.init(
            nonce: nonce,
            turn: json.string("turn") ?? "\(bootID) \(namespace) \(pid) \(start)",
            duration: min(duration, Self.maximumDuration),
            holder: holder,
            deadline: deadline,
            isLocked: json.bool("locked") ?? false
        )
    }

    package func encoded() -> CacheRecord {
        var json = JSONObject()
        json["v"] = .integer(1)
        json["nonce"] = .string(nonce)
        json["turn"] = .string(turn)
        json["duration"] = .integer(duration)
        json["deadline"] = .integer(deadline)
        json["boot_id"] = .string(holder.bootID)
        json["pid_namespace"] = .string(holder.pidNamespace)
        json["pid"] = .integer(holder.pid)
        json["start"] = .string(holder.startTime)
        if isLocked { json["locked"] = .bool(true) }
        return CacheRecord(bytes: json.serialized())
    }
}
