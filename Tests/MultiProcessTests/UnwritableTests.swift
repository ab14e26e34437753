// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Glibc
import IdentityClient
import IdentityTesting
import Testing

/// The storage fails between the answer and the write: the program goes on with what it has, and says so.
@Suite(.serialized, .timeLimit(.minutes(3)))
struct UnwritableTests {
    static let isRoot = geteuid() == 0

    /// A disk that fits nothing more is full before the lease: nothing is sent, so nothing can be lost.
    @Test(.enabled(if: isRoot, "only root can mount"))
    func losesNothingOnAFullDisk() async throws {
        let disk = try Disk(kilobytes: 128)
        let house = try await Household(Storage(.file, directory: disk.directory))
        let worker = try await house.worker { $0.rounds = 3 }
        try disk.fill()
        worker.go()
        let first = try #require(try await worker.report())
        #expect(first.error == "cache.full" || first.unsaved == "cache.full", "\(first)")
        worker.go()
        let second = try #require(try await worker.report(1))
        if first.unsaved != nil { #expect(second.token == first.token && second.error == nil) }
        try disk.empty()
        worker.go()
        #expect(try #require(try await worker.report(2)).error == nil)
        let next = try #require(try await house.acquire())
        #expect(next.error == nil, "\(next)")
        let sent = house.sentRefreshTokens
        #expect(Set(sent).count == sent.count)
    }

    /// The disk fills up while the request is under way.
    @Test(.enabled(if: isRoot, "only root can mount"))
    func keepsTheTokenInMemoryWhenTheDiskFillsUpMeanwhile() async throws {
        let disk = try Disk(kilobytes: 128)
        let house = try await Household(Storage(.file, directory: disk.directory))
        let gate = Gate()
        house.provider.failNext(.token, with: .held(by: gate))
        let worker = try await house.worker { $0.rounds = 3 }
        worker.go()
        try await house.provider.waitForRequest(.token)
        try disk.fill()
        gate.open()
        let first = try #require(try await worker.report())
        #expect(first.error == nil && first.token != nil && first.unsaved == "cache.full", "\(first)")
        worker.go()
        #expect(try #require(try await worker.report(1)).token == first.token)
        try disk.empty()
        worker.go()
        #expect(try #require(try await worker.report(2)).token == first.token)
        let next = try #require(try await house.acquire())
        #expect(next.token == first.token && next.source == "cache", "It was written when there was room: \(next)")
        #expect(try #require(try await house.refresh()).error == nil)
    }

    @Test(.enabled(if: isRoot, "only root can mount"))
    func keepsTheTokenInMemoryWhenTheDiskBecomesReadOnly() async throws {
        let disk = try Disk(kilobytes: 256)
        let house = try await Household(Storage(.file, directory: disk.directory))
        let gate = Gate()
        house.provider.failNext(.token, with: .held(by: gate))
        let worker = try await house.worker { $0.rounds = 3 }
        worker.go()
        try await house.provider.waitForRequest(.token)
        try disk.remount(readOnly: true)
        gate.open()
        let first = try #require(try await worker.report())
        #expect(first.error == nil && first.token != nil && first.unsaved == "cache.permissions", "\(first)")
        worker.go()
        #expect(try #require(try await worker.report(1)).token == first.token)
        try disk.remount(readOnly: false)
        worker.go()
        #expect(try #require(try await worker.report(2)).token == first.token)
        #expect(try #require(try await house.acquire()).token == first.token)
    }

    /// Who removes the directory signs everybody out: a refresh that is under way does not bring them back.
    @Test func bringsNothingBackIntoADirectoryThatWasRemoved() async throws {
        let storage = try Storage(.file)
        let house = try await Household(storage)
        let gate = Gate()
        house.provider.failNext(.token, with: .held(by: gate))
        let worker = try await house.worker()
        worker.go()
        try await house.provider.waitForRequest(.token)
        try storage.remove()
        gate.open()
        #expect(try #require(try await worker.report()).error == "interaction_required.account_removed")
        #expect(try #require(try await house.acquire()).error == "no_account")
        try await house.signIn(.alice)
        #expect(try #require(try await house.refresh()).error == nil)
    }
}
