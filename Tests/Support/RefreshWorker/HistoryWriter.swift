// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Glibc
import IdentityClient

/// Reads, replaces and removes records at random, and writes each call and return into a file, with the time.
///
/// `C NUMBER TIME r RECORD` or `C NUMBER TIME w RECORD EXPECTED NEW`, then `R NUMBER TIME RESULT`; `-` is no value, `?` an
/// error. The times are those of CLOCK_MONOTONIC_RAW, which all processes share and no test steps.
struct HistoryWriter {
    private let cache: any TokenCache
    private let group: CacheGroup
    private let log: Int32
    private let count: Int
    private static let records = ["one", "two", "three"]

    /// - Parameter mistake: A mistake of the cache that a test has to find: `stale-read`, `lost-write` or `none`.
    init(_ cache: any TokenCache, group: String, log: String, count: Int, mistake: String) throws {
        self.cache = mistake == "none" ? cache : MistakenCache(cache, mistake)
        self.group = try CacheGroup(group)
        self.log = unsafe open(log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0o600)
        self.count = count
    }

    func run() async {
        say("ready", to: 1)
        var byte: UInt8 = 0
        guard unsafe read(0, &byte, 1) == 1 else { return }
        var known: [String: CacheRecord?] = [:]
        for number in 0..<count {
            let record = Self.records[Int.random(in: 0..<Self.records.count)]
            let key = CacheKey(group: group, kind: .account, name: record)
            if let expected = known[record], Bool.random() {
                let new = Int.random(in: 0..<8) == 0 ? nil : CacheRecord(bytes: Array("\(getpid()).\(number)".utf8))
                say("C \(number) \(time) w \(record) \(text(expected)) \(text(new))")
                guard let isReplaced = try? await cache.replace(expected, with: new, for: key) else {
                    say("R \(number) \(time) ?")
                    continue
                }
                say("R \(number) \(time) \(isReplaced)")
                known[record] = isReplaced ? .some(new) : nil
            } else {
                say("C \(number) \(time) r \(record)")
                guard let found = try? await cache.record(for: key) as CacheRecord?? else {
                    say("R \(number) \(time) ?")
                    continue
                }
                say("R \(number) \(time) \(text(found))")
                known[record] = found
            }
        }
    }

    private func text(_ record: CacheRecord?) -> String {
        record.map { String(decoding: $0.bytes, as: UTF8.self) } ?? "-"
    }

    private var time: UInt64 {
        var now = timespec()
        unsafe clock_gettime(CLOCK_MONOTONIC_RAW, &now)
        return UInt64(now.tv_sec) * 1_000_000_000 + UInt64(now.tv_nsec)
    }

    /// In one piece, whatever happens to this process then.
    private func say(_ line: String, to descriptor: Int32? = nil) {
        let bytes = Array("\(line)\n".utf8)
        _ = unsafe bytes.withUnsafeBytes { unsafe write(descriptor ?? log, $0.baseAddress, $0.count) }
    }
}

/// A cache with a mistake, around one without.
private actor MistakenCache: TokenCache {
    private let cache: any TokenCache
    private let mistake: String
    private var old: [CacheKey: CacheRecord] = [:]

    init(_ cache: any TokenCache, _ mistake: String) { (self.cache, self.mistake) = (cache, mistake) }

    /// Some reads return what an earlier one has found.
    func record(for key: CacheKey) async throws -> CacheRecord? {
        if mistake == "stale-read", let old = old[key], Int.random(in: 0..<4) == 0 { return old }
        let record = try await cache.record(for: key)
        if let record { old[key] = record }
        return record
    }

    /// Some writes say that they are done, and are not.
    func replace(_ expected: CacheRecord?, with new: CacheRecord?, for key: CacheKey) async throws -> Bool {
        if mistake == "lost-write", Int.random(in: 0..<10) == 0 { return true }
        return try await cache.replace(expected, with: new, for: key)
    }

    func records(of kind: CacheKey.Kind, in group: CacheGroup) async throws -> [CacheKey: CacheRecord] {
        try await cache.records(of: kind, in: group)
    }
}
