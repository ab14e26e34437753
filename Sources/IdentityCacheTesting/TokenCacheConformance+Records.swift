// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import IdentityClient

// The promises to one caller on one cache.
extension TokenCacheConformance.TestedCache {
    func checkAbsence() async throws {
        try await expect(nil, at: key, "Before anything was written")
        let records = try await cache.records(of: .account, in: group)
        try expect(records.isEmpty, "Before anything was written, a listing had \(records.count) records.")
    }

    func checkRoundTrip() async throws {
        let neighbours = [anotherKey(), CacheKey(group: group, kind: .lease, name: key.name)]
        let elsewhere = try CacheKey(group: Self.randomGroup(), kind: key.kind, name: key.name)
        try await replace(nil, with: CacheRecord(text: "one"), at: key, "Storing the first record")
        try await expect(CacheRecord(text: "one"), at: key, "After it was stored")
        for neighbour in neighbours + [elsewhere] {
            try await expect(nil, at: neighbour, "Under another name, kind or group")
        }
        try await replace(
            CacheRecord(text: "one"),
            with: CacheRecord(text: "two"),
            at: key,
            "Storing the second record"
        )
        try await expect(CacheRecord(text: "two"), at: key, "After the second was stored")
    }

    func checkInsertIfAbsent() async throws {
        try await replace(nil, with: CacheRecord(text: "first"), at: key, "Where there was nothing")
        try await replace(nil, with: CacheRecord(text: "later"), at: key, succeeds: false, "Where there was a record")
        try await expect(CacheRecord(text: "first"), at: key, "After an insert that was refused")
    }

    func checkRefusedReplace() async throws {
        let (old, new) = (CacheRecord(text: "old"), CacheRecord(text: "new"))
        try await replace(old, with: new, at: key, succeeds: false, "Where there was nothing to replace")
        try await expect(nil, at: key, "After that was refused")
        try await replace(nil, with: old, at: key, "Storing a record")
        for wrong in ["olD", "ol", "old ", ""] {
            try await replace(
                CacheRecord(text: wrong),
                with: new,
                at: key,
                succeeds: false,
                "Expecting '\(wrong)' for 'old'"
            )
            try await expect(old, at: key, "After that was refused")
        }
    }

    func checkComparesContent() async throws {
        let stored = CacheRecord(bytes: Array("content".utf8) + [0, 0xff])
        try await replace(nil, with: stored, at: key, "Storing a record")
        let equal = CacheRecord(bytes: stored.bytes.map { $0 })
        try await replace(equal, with: CacheRecord(text: "next"), at: key, "Expecting equal bytes in another array")
        try await expect(CacheRecord(text: "next"), at: key, "After that")
        try await replace(CacheRecord(text: "next"), with: CacheRecord(text: "next"), at: key, "Storing the same again")
        try await expect(CacheRecord(text: "next"), at: key, "After that")
    }

    func checkRemoval() async throws {
        let (record, neighbour) = (CacheRecord(text: "record"), anotherKey())
        try await replace(nil, with: nil, at: key, "Removing what is not there, expecting nothing")
        try await replace(nil, with: record, at: key, "Storing a record")
        try await replace(nil, with: record, at: neighbour, "Storing another record")
        try await replace(nil, with: nil, at: key, succeeds: false, "Removing a record but expecting nothing")
        try await replace(
            CacheRecord(text: "other"),
            with: nil,
            at: key,
            succeeds: false,
            "Removing but expecting another"
        )
        try await expect(record, at: key, "After removals that were refused")
        try await replace(record, with: nil, at: key, "Removing the record")
        try await expect(nil, at: key, "After it was removed")
        try await expect(record, at: neighbour, "After another record was removed")
        let left = try await cache.records(of: .account, in: group)
        try expect(left == [neighbour: record], "After one of two was removed, a listing had \(left.count).")
        try await replace(record, with: nil, at: key, succeeds: false, "Removing it once more")
        try await replace(nil, with: record, at: key, "Storing it again")
        try await expect(record, at: key, "After it was stored again")
    }

    func checkListing() async throws {
        var expected: [CacheKey: CacheRecord] = [:]
        for number in 0..<20 {
            let (key, record) = (anotherKey(), CacheRecord(text: "account \(number)"))
            try await replace(nil, with: record, at: key, "Storing a record")
            expected[key] = record
        }
        let next = try next()
        let other = CacheKey(group: next.group, kind: .account, name: key.name)
        let foreign = [anotherKey(kind: .application), anotherKey(kind: .lease), other]
        try await next.clearing { [expected] in
            for key in foreign { try await replace(nil, with: CacheRecord(text: "x"), at: key, "Storing a record") }
            let found = try await cache.records(of: .account, in: group)
            let strangers = found.keys.filter { expected[$0] == nil }.count
            try expect(strangers == 0, "A listing had \(strangers) records of another kind or group.")
            try expect(found == expected, "A listing had \(found.count) of 20 records, or other content.")
            let applications = try await cache.records(of: .application, in: group)
            try expect(
                applications == [foreign[0]: CacheRecord(text: "x")],
                "A listing of another kind had \(applications.count) of 1."
            )
        }
    }

    func checkWritabilityCheck() async throws {
        let record = CacheRecord(text: "record")
        try await replace(nil, with: record, at: key, "Storing a record")
        try await withThrowingTaskGroup { tasks in
            for _ in 0..<16 { tasks.addTask { try await cache.checkWritable(in: group) } }
            try await tasks.waitForAll()
        }
        try await expect(record, at: key, "After it was asked 16 times")
        for kind in [CacheKey.Kind.account, .application, .provider, .lease] {
            let found = try await cache.records(of: kind, in: group)
            let expected = kind == .account ? [key: record] : [:]
            try expect(found == expected, "A listing of '\(kind.rawValue)' had \(found.count) records afterwards.")
        }
    }

    /// - Parameter other: Another cache on the same storage, if there is one.
    func checkReservation(beside other: (any TokenCache)?) async throws {
        let (old, new) = (CacheRecord(text: "old"), CacheRecord(text: "new"))
        try await replace(nil, with: old, at: key, "Storing a record")
        var reservations: [(any TokenCacheReservation)?] = []
        for _ in 0..<2 { reservations.append(try await cache.reserve(16_384, for: key)) }
        for kind in [CacheKey.Kind.account, .application, .provider, .lease] {
            let found = try await cache.records(of: kind, in: group)
            let expected = kind == .account ? [key: old] : [:]
            try expect(
                found == expected,
                "A listing of '\(kind.rawValue)' had \(found.count) records while a write was reserved."
            )
        }
        let writer = other.map(through) ?? self
        for _ in 0..<20 {
            try await writer.replace(nil, with: old, at: anotherKey(), "Storing another record beside a reservation")
        }
        try await writer.replace(old, with: new, at: key, "Storing the record by another way")
        try await replace(old, with: new, at: key, succeeds: false, "A reserved write that expects another record")
        let long = CacheRecord(bytes: [UInt8](repeating: 7, count: 100_000))
        try await replace(new, with: long, at: key, "A reserved write of more than was reserved")
        for reservation in reservations {
            await reservation?.release()
            await reservation?.release()
        }
        try await expect(long, at: key, "After a reserved write")
        try await cache.reserve(16_384, for: key)?.release()
        try await replace(long, with: old, at: key, "Storing a record after a reservation was released")
        try await expect(old, at: key, "After that")
    }

    func checkContent(_ bytes: [UInt8]) async throws {
        let record = CacheRecord(bytes: bytes)
        try await replace(nil, with: record, at: key, "Storing \(bytes.count) bytes")
        try await expect(record, at: key, "After \(bytes.count) bytes were stored")
        try await replace(nil, with: record, at: key, succeeds: false, "Expecting nothing for \(bytes.count) bytes")
        let listed = try await cache.records(of: .account, in: group)
        try expect(listed == [key: record], "A listing did not have the record of \(bytes.count) bytes.")
        let changed = CacheRecord(bytes: bytes + [])
        try await replace(changed, with: nil, at: key, "Removing \(bytes.count) bytes")
        try await expect(nil, at: key, "After they were removed")
    }
}
