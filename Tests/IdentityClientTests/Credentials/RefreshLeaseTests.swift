// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import IdentityClient
import SystemSupport
import Testing

@Suite struct RefreshLeaseTests {
    static let here = ProcessIdentity(bootID: "boot", pidNamespace: "pid:[1]", pid: 10, startTime: "100")
    static let sibling = ProcessIdentity(bootID: "boot", pidNamespace: "pid:[1]", pid: 11, startTime: "200")
    static let container = ProcessIdentity(bootID: "boot", pidNamespace: "pid:[2]", pid: 11, startTime: "200")
    static let otherHost = ProcessIdentity(bootID: "other", pidNamespace: "pid:[1]", pid: 11, startTime: "200")
    static let nobody = ProcessIdentity(bootID: "boot", pidNamespace: "unknown", pid: 11, startTime: "200")
    static let unknownBoot = ProcessIdentity(bootID: "unknown", pidNamespace: "pid:[1]", pid: 11, startTime: "200")

    /// The holder, milliseconds that the lease was watched, and whether the holder is dead. The lease's own deadline does not
    /// count: both may have slept beyond it, or it is dishonest.
    @Test(
        arguments: [
            (sibling, 0, false, false), (sibling, 44_999, false, false), (sibling, 45_000, false, true),
            (sibling, 0, true, true),
            // A process that cannot see the holder relies on how long it has watched the lease.
            (container, 44_999, true, false), (container, 45_000, false, true),
            (otherHost, 44_999, true, false), (otherHost, 45_000, false, true), (nobody, 0, true, false),
        ] as [(ProcessIdentity, Int64, Bool, Bool)],
        [0, Int64.max]
    )
    func isFree(_ row: (holder: ProcessIdentity, seenFor: Int64, isDead: Bool, expected: Bool), deadline: Int64) {
        let lease = RefreshLease(nonce: "n", duration: 45_000, holder: row.holder, deadline: deadline)
        let sight = LeaseSight(lease, observer: Self.here, elapsed: 7 + row.seenFor, holderIsDead: row.isDead)
        #expect(sight.isFree(seenSince: 7) == row.expected)
    }

    /// The lock decides whether the holder lives, and time ends a lease all the same.
    @Test(
        arguments: [
            (sibling, true, 0, true, false), (sibling, false, 0, false, true), (sibling, nil, 0, true, true),
            (container, true, 0, true, false), (container, false, 0, false, true),
            (otherHost, false, 0, false, true), (nobody, true, 44_999, true, false),
            (nobody, true, 45_000, false, true),
        ] as [(ProcessIdentity, Bool?, Int64, Bool, Bool)]
    )
    func isFreeByItsLock(
        holder: ProcessIdentity,
        isLocked: Bool?,
        seenFor: Int64,
        isDead: Bool,
        expected: Bool
    ) {
        let lease = RefreshLease(
            nonce: "n",
            duration: 45_000,
            holder: holder,
            deadline: 1_000_000,
            isLocked: isLocked != nil
        )
        let sight = LeaseSight(
            lease,
            observer: Self.here,
            elapsed: 7 + seenFor,
            isLocked: isLocked,
            holderIsDead: isDead
        )
        #expect(sight.isFree(seenSince: 7) == expected)
    }

    @Test(arguments: [(sibling, true), (container, false), (otherHost, false), (nobody, false)])
    func sees(other: ProcessIdentity, expected: Bool) {
        #expect(Self.here.sees(other) == expected)
        #expect(other.sees(Self.here) == expected)
    }

    @Test func seesNoProcessWithoutKnowingItsOwnNamespace() {
        #expect(!Self.nobody.sees(Self.nobody))
        #expect(!Self.unknownBoot.sees(Self.unknownBoot))
    }

    @Test func roundTrips() {
        let lease = RefreshLease(nonce: "n", duration: 45_000, holder: Self.sibling, deadline: 1_000_000)
        #expect(RefreshLease(decoding: lease.encoded()) == lease)
        let renewed = RefreshLease(
            nonce: "m",
            turn: "n",
            duration: 45_000,
            holder: Self.sibling,
            deadline: 1_000_000,
            isLocked: true
        )
        #expect(RefreshLease(decoding: renewed.encoded()) == renewed)
    }

    /// Two leases of an older version's process are one turn: nothing tells whether it renewed the first.
    @Test func readsALeaseOfAnOlderVersion() throws {
        func lease(_ nonce: String) throws -> RefreshLease {
            let text = """
                {"v":1,"nonce":"\(nonce)","duration":45000,"deadline":1,"boot_id":"boot","pid_namespace":"pid:[1]",\
                "pid":11,"start":"200"}
                """
            return try #require(RefreshLease(decoding: CacheRecord(bytes: Array(text.utf8))))
        }
        #expect(try lease("n").holder == Self.sibling && !lease("n").isLocked)
        #expect(try lease("n").turn == lease("m").turn)
    }

    /// A damaged or hostile lease blocks no process, or only briefly.
    @Test(arguments: [
        (#""duration":45000"#, #""duration":0"#), (#""duration":45000"#, #""duration":-1"#),
        (#""duration":45000"#, #""duration":"soon""#),
        (#""duration":45000"#, #""duration":1e400"#), (#""nonce":"n""#, #""nonce":1"#), (#""pid":11"#, #""pid":"x""#),
        (#""pid":11"#, #""pid":1.5"#),
        (#""boot_id":"boot","#, ""), (#""start":"200""#, #""start":200"#), ("{", "["),
    ])
    func ignoresADamagedLease(part: String, replacement: String) {
        let text = String(
            decoding: RefreshLease(nonce: "n", duration: 45_000, holder: Self.sibling, deadline: 1).encoded().bytes,
            as: UTF8.self
        )
        #expect(text.contains(part))
        #expect(RefreshLease(decoding: CacheRecord(bytes: Array(text.replacing(part, with: replacement).utf8))) == nil)
    }

    @Test(arguments: [120_001, Int64.max]) func limitsALongLease(duration: Int64) {
        let lease = RefreshLease(nonce: "n", duration: duration, holder: Self.otherHost, deadline: .max)
        #expect(RefreshLease(decoding: lease.encoded())?.duration == 120_000)
    }
}
