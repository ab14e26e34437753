// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import IdentityClient
import SystemSupport
import Testing

/// The next step of a refresh after each event. `ExplorerTests` goes through every order of events.
@Suite struct RefreshMachineTests {
    typealias Event = RefreshMachine.Event
    typealias Action = RefreshMachine.Action

    private static let me = ProcessIdentity(bootID: "boot", pidNamespace: "host", pid: 1, startTime: "1")
    private static let other = ProcessIdentity(bootID: "boot", pidNamespace: "host", pid: 2, startTime: "1")
    private static let record = record("r0")
    private static let fault = RefreshFault()

    private static func record(_ token: String?, signInID: String = "first") -> RecordFacts {
        RecordFacts(signInID: signInID, token: token)
    }

    private static var answering: RecordFacts {
        var facts = record("r1")
        facts.answers = true
        return facts
    }

    private static var refused: RecordFacts {
        var facts = record
        facts.refusedFor = 60
        return facts
    }

    private static var newer: RecordFacts {
        var facts = record
        facts.isNewer = true
        return facts
    }

    private static func held(_ elapsed: Int64 = 0, isDead: Bool = false) -> Event {
        let lease = RefreshLease(nonce: "n", duration: 45_000, holder: other, deadline: .max)
        return .leaseRead(
            LeaseSight(lease, observer: me, elapsed: elapsed, holderIsDead: isDead)
        )
    }

    private static func free(_ elapsed: Int64 = 0) -> Event {
        .leaseRead(LeaseSight(nil, observer: me, elapsed: elapsed, holderIsDead: false))
    }

    private static func machine(
        after events: [Event] = [],
        hasKeptLease: Bool = false,
        _ change: (inout RefreshRules) -> Void = { _ in }
    ) -> RefreshMachine {
        var rules = RefreshRules(leaseDuration: 45_000)
        change(&rules)
        var machine = RefreshMachine(rules, hasKeptLease: hasKeptLease)
        for event in [.begin] + events { _ = machine.handle(event) }
        return machine
    }

    /// Until the refresh token is about to be sent.
    private static let toTheRequest: [Event] = [
        free(), .leaseTaken(true), .recordRead(record), .done, .leaseRenewed(true), .done, .leaseRenewed(true), .done,
        .done, .leaseRenewed(true),
    ]
    private static let toTheCommit = toTheRequest + [.answered(rotated: "r1"), .believed]

    private func expect(
        _ machine: inout RefreshMachine,
        _ steps: [(Event, [Action])],
        sourceLocation: SourceLocation = #_sourceLocation
    ) {
        for (event, actions) in steps {
            #expect(machine.handle(event) == actions, "after \(event)", sourceLocation: sourceLocation)
        }
    }

    @Test func takesTheLeaseRedeemsCommitsAndReleasesLast() {
        var machine = RefreshMachine(RefreshRules(leaseDuration: 45_000))
        expect(
            &machine,
            [
                (.begin, [.readLease]), (Self.free(), [.takeLease]), (.leaseTaken(true), [.prepare, .readRecord]),
                (.recordRead(Self.record), [.checkThrottling]), (.done, [.renewLease]),
                (.leaseRenewed(true), [.findProvider]), (.done, [.renewLease]), (.leaseRenewed(true), [.fetchKeys]),
                (.done, [.reserve]), (.done, [.renewLease]), (.leaseRenewed(true), [.send]),
                (.answered(rotated: "r1"), [.renewLeaseMeanwhile, .validate]),
                (.believed, [.forgetRefusals, .commit(base: .sent)]),
                (.committed(Self.record("r1")), [.lookForUnsaved]), (.unsaved(false), [.release]),
                (.done, [.finish(.granted)]),
            ]
        )
        #expect(machine.hasEnded)
    }

    /// The order is: the reservation, the lease that outlasts the request, the request. The lease is released with it.
    @Test func sendsNothingIfTheAnswerCouldNotBeStored() {
        var machine = Self.machine(after: Array(Self.toTheRequest.dropLast(2)))
        expect(
            &machine,
            [
                (.failed(Self.fault), [.lookForUnsaved]), (.unsaved(false), [.release]),
                (.done, [.finish(.failed(Self.fault))]),
            ]
        )
        #expect(machine.hasEnded)
    }

    @Test func returnsTheTokenThatTheLeaseHolderStored() {
        var machine = Self.machine()
        expect(
            &machine,
            [
                (Self.held(), [.listen, .readLease]), (Self.held(5), [.wait]), (.hint, [.readRecord]),
                (.recordRead(Self.record), [.readLease]), (Self.held(9), [.wait]), (.timeUp, [.readLease]),
                (Self.free(20), [.readRecord]), (.recordRead(Self.answering), [.finish(.found)]),
            ]
        )
        #expect(machine.hasEnded)
    }

    @Test func takesOverTheLeaseOfADeadHolderAndAnExpiredLease() {
        var machine = Self.machine()
        expect(&machine, [(Self.held(isDead: true), [.readRecord]), (.recordRead(Self.record), [.takeLease])])
        machine = Self.machine(after: [Self.held(), Self.held(44_999)])
        expect(&machine, [(.timeUp, [.readLease]), (Self.held(45_000), [.readRecord])])
    }

    /// A token in the cache does not answer it.
    @Test func aForcedRefreshIgnoresATokenThatAnotherProcessStored() {
        var machine = Self.machine(after: [Self.held(), Self.held()]) { $0.skipsAccessToken = true }
        expect(&machine, [(.hint, [.readLease]), (Self.free(), [.takeLease])])
    }

    @Test func givesUpAfterWaitingForThreeLeaseDurations() {
        func renewed(_ nonce: String, _ elapsed: Int64) -> Event {
            let lease = RefreshLease(nonce: nonce, turn: "n", duration: 45_000, holder: Self.other, deadline: .max)
            return .leaseRead(
                LeaseSight(lease, observer: Self.me, elapsed: elapsed, holderIsDead: false)
            )
        }
        var machine = Self.machine(after: [Self.held(0), Self.held(0)])
        for elapsed in [44_000, 88_000, 132_000, 134_999] as [Int64] {
            expect(&machine, [(.timeUp, [.readLease]), (renewed("\(elapsed)", elapsed), [.wait])])
        }
        expect(&machine, [(.timeUp, [.readLease]), (renewed("last", 135_000), [.finish(.waitedTooLong)])])
    }

    /// The others make progress, however many they are.
    @Test func waitsOnWhileTheLeaseChangesHands() {
        func sight(_ turn: String, _ elapsed: Int64) -> Event {
            let lease = RefreshLease(nonce: turn, duration: 45_000, holder: Self.other, deadline: .max)
            return .leaseRead(
                LeaseSight(lease, observer: Self.me, elapsed: elapsed, holderIsDead: false)
            )
        }
        var machine = Self.machine(after: [Self.held(0), Self.held(0)])
        for turn in 1...10 {
            expect(&machine, [(.timeUp, [.readLease]), (sight("\(turn)", Int64(turn) * 44_000), [.wait])])
        }
        expect(&machine, [(.timeUp, [.readLease])])
        let renewed = RefreshLease(nonce: "r", turn: "10", duration: 45_000, holder: Self.other, deadline: .max)
        let last = LeaseSight(renewed, observer: Self.me, elapsed: 575_000, holderIsDead: false)
        expect(&machine, [(.leaseRead(last), [.finish(.waitedTooLong)])])
    }

    @Test func givesUpOnACacheThatNeverAcceptsTheLease() {
        var machine = Self.machine(after: [Self.free()])
        expect(&machine, [(.leaseTaken(false), [.listen, .readLease]), (Self.free(135_000), [.takeLease])])
        expect(&machine, [(.leaseTaken(false), [.finish(.waitedTooLong)])])
    }

    @Test func failsIfTheLeaseCannotBeRead() {
        var machine = Self.machine()
        expect(&machine, [(.failed(Self.fault), [.finish(.failed(Self.fault))])])
        #expect(machine.hasEnded)
    }

    /// A kept lease that can't be renewed, on a full disk, counts until it runs out.
    @Test(
        arguments: [
            (.leaseRenewed(true), [.prepare, .readRecord]), (.failed(RefreshFault()), [.prepare, .readRecord]),
            (.leaseRenewed(false), [.readLease]),
        ] as [(Event, [Action])]
    )
    func continuesUnderAKeptLease(event: Event, actions: [Action]) {
        var machine = Self.machine(hasKeptLease: true)
        expect(&machine, [(event, actions)])
    }

    @Test(
        arguments: [
            (nil, .removed), (answering, .found), (record(nil), .withoutToken),
            (refused, .refused(seconds: 60)), (newer, .newerVersion),
        ] as [(RecordFacts?, RefreshOutcome)]
    )
    func sendsNothingIfTheRecordIsGoneAnswersOrHasNoUsableToken(record: RecordFacts?, outcome: RefreshOutcome) {
        var machine = Self.machine(after: [Self.free(), .leaseTaken(true)])
        expect(
            &machine,
            [(.recordRead(record), [.lookForUnsaved]), (.unsaved(false), [.release]), (.done, [.finish(outcome)])]
        )
    }

    @Test func aForcedRefreshSendsARefreshTokenThatWasRefused() {
        var machine = Self.machine(after: [Self.free(), .leaseTaken(true)]) { $0.isForced = true }
        var record = Self.record
        record.refusedFor = 60
        expect(&machine, [(.recordRead(record), [.checkThrottling])])
    }

    /// Never three times, and only under the lease.
    @Test func sendsTheRefreshTokenOnceMoreAfterAnAmbiguousAnswer() {
        var machine = Self.machine(after: Self.toTheRequest)
        var second = Self.fault
        second.number = 1
        expect(
            &machine,
            [
                (.ambiguous(Self.fault, allowsRetry: true), [.renewLease]), (.leaseRenewed(true), [.send]),
                (.ambiguous(second, allowsRetry: true), [.note(second, of: .sent)]), (.done, [.lookForUnsaved]),
                (.unsaved(false), [.release]), (.done, [.finish(.failed(second))]),
            ]
        )
        machine = Self.machine(after: Self.toTheRequest + [.ambiguous(Self.fault, allowsRetry: true)])
        expect(
            &machine,
            [
                (.leaseRenewed(false), [.lookForUnsaved]), (.unsaved(false), [.release]),
                (.done, [.finish(.takenOver)]),
            ]
        )
    }

    /// The program does not allow another time, or the process stood still.
    @Test func sendsTheRefreshTokenOnceIfItMayNotBeSentAgain() {
        var machine = Self.machine(after: Self.toTheRequest)
        expect(&machine, [(.ambiguous(Self.fault, allowsRetry: false), [.note(Self.fault, of: .sent)])])
    }

    /// Where the provider publishes that it wants no requests, that is noted; other errors of its configuration are not.
    @Test(arguments: [true, false])
    func notesThatTheProviderIsUnavailableAndNoOtherFaultOfItsDocuments(isUnavailable: Bool) {
        var machine = Self.machine(after: Array(Self.toTheRequest.prefix(5)))
        var fault = RefreshFault()
        fault.isUnavailable = isUnavailable
        expect(&machine, [(.failed(fault), isUnavailable ? [.note(fault, of: .sent)] : [.lookForUnsaved])])
    }

    @Test func storesTheNewRefreshTokenOnceBeforeAFetch() {
        var machine = Self.machine(after: Self.toTheRequest + [.answered(rotated: "r1")])
        expect(
            &machine,
            [
                (.willFetch, [.commitRotation]), (.committed(Self.record("r1")), []), (.willFetch, []),
                (.believed, [.forgetRefusals, .commit(base: .rotated)]),
            ]
        )
    }

    @Test func storesTheNewRefreshTokenOfARejectedAnswer() {
        var machine = Self.machine(after: Self.toTheRequest + [.answered(rotated: "r1")])
        expect(
            &machine,
            [
                (.failed(Self.fault), [.commitRotation]),
                (.committed(Self.record("r1")), [.note(Self.fault, of: .rotated)]),
            ]
        )
        machine = Self.machine(after: Self.toTheRequest + [.answered(rotated: nil)])
        expect(&machine, [(.failed(Self.fault), [.note(Self.fault, of: .sent)])])
    }

    /// A sign-in without a refresh token of its own relies on the new one, and counts as the same.
    @Test(arguments: [record("r9"), record("r1", signInID: "another")])
    func returnsItsTokenIfTheRecordBelongsToItsSignIn(record: RecordFacts) {
        var machine = Self.machine(after: Self.toTheCommit)
        expect(
            &machine,
            [(.committed(record), [.lookForUnsaved]), (.unsaved(false), [.release]), (.done, [.finish(.granted)])]
        )
    }

    @Test(arguments: [(answering, .found), (record, .removed), (nil, .removed)] as [(RecordFacts?, RefreshOutcome)])
    func revokesTheTokensOfARemovedAccount(record: RecordFacts?, outcome: RefreshOutcome) {
        var machine = Self.machine(after: Self.toTheCommit)
        expect(
            &machine,
            [
                (.committed(nil), [.revoke]), (.done, [.readRecord]), (.recordRead(record), [.lookForUnsaved]),
                (.unsaved(false), [.release]), (.done, [.finish(outcome)]),
            ]
        )
    }

    @Test func startsAgainOnceIfAnotherSignInReplacedTheRecord() {
        let newer = Self.record("other", signInID: "second")
        var machine = Self.machine(after: Self.toTheCommit)
        expect(&machine, [(.committed(newer), [.prepare, .readRecord]), (.recordRead(newer), [.checkThrottling])])
        for event in Self.toTheCommit.dropFirst(3) { _ = machine.handle(event) }
        expect(
            &machine,
            [
                (.committed(Self.record("third", signInID: "third")), [.lookForUnsaved]),
                (.unsaved(false), [.release]), (.done, [.finish(.notAccepted)]),
            ]
        )
    }

    @Test func triesOnceMoreWithAnotherRefreshTokenAfterARefusal() {
        var refusal = RefreshFault()
        (refusal.needsPerson, refusal.refusesTheToken) = (true, true)
        var machine = Self.machine(after: Self.toTheRequest)
        expect(
            &machine,
            [
                (.failed(refusal), [.note(refusal, of: .sent)]), (.done, [.remember(refusal)]),
                (.done, [.prepare, .readRecord]), (.recordRead(Self.record("r1")), [.checkThrottling]),
            ]
        )
        for event in Self.toTheRequest.dropFirst(3) { _ = machine.handle(event) }
        expect(
            &machine,
            [
                (.failed(refusal), [.note(refusal, of: .sent)]), (.done, [.remember(refusal)]),
                (.done, [.lookForUnsaved]),
            ]
        )
    }

    @Test(arguments: [record, nil] as [RecordFacts?])
    func reportsTheRefusalIfNoOtherRefreshTokenIsStored(record: RecordFacts?) {
        var refusal = RefreshFault()
        refusal.needsPerson = true
        var machine = Self.machine(after: Self.toTheRequest + [.failed(refusal), .done])
        let outcome: RefreshOutcome = record == nil ? .removed : .failed(refusal)
        expect(
            &machine,
            [(.recordRead(record), [.lookForUnsaved]), (.unsaved(false), [.release]), (.done, [.finish(outcome)])]
        )
        machine = Self.machine(after: Self.toTheRequest + [.failed(refusal), .done])
        var unreadable = RefreshFault()
        unreadable.number = 1
        expect(
            &machine,
            [
                (.failed(unreadable), [.lookForUnsaved]), (.unsaved(false), [.release]),
                (.done, [.finish(.failed(refusal))]),
            ]
        )
    }

    /// The caller is answered at once; the lease is kept and renewed until everything is written.
    @Test func keepsTheLeaseUntilEverythingIsWritten() {
        var machine = Self.machine(after: Self.toTheCommit + [.committed(Self.record("r1"))])
        expect(&machine, [(.unsaved(true), [.finish(.granted), .waitForWrite(milliseconds: 200)])])
        for pause in [400, 800, 1600, 3200, 5000, 5000] as [Int64] {
            expect(
                &machine,
                [
                    (.timeUp, [.save]), (.done, [.renewLease]),
                    (.leaseRenewed(true), [.waitForWrite(milliseconds: pause)]),
                ]
            )
        }
        expect(
            &machine,
            [(.timeUp, [.save]), (.done, [.renewLease]), (.failed(Self.fault), [.waitForWrite(milliseconds: 5000)])]
        )
        expect(&machine, [(.written, [.release]), (.done, [])])
        #expect(machine.hasEnded)
    }

    /// The next refresh in this process takes the lease, another process took it over, or a newer version wrote the record.
    @Test(
        arguments: [
            [(.takenByTheNext, [])], [(.timeUp, [.save]), (.done, [.renewLease]), (.leaseRenewed(false), [])],
            [(.timeUp, [.save]), (.neverToBeWritten, [.release]), (.done, [])],
        ] as [[(Event, [Action])]]
    )
    func stopsKeepingALeaseThatHasNoUse(steps: [(Event, [Action])]) {
        var machine = Self.machine(after: Self.toTheCommit + [.committed(Self.record("r1")), .unsaved(true)])
        expect(&machine, steps)
        #expect(machine.hasEnded)
    }
}
