// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import OAuthWire
import Testing

@testable import IdentityClient

@Suite struct RefreshRefusalTests {
    private static let now = Fixture.now

    private func decoded(_ refusals: String?) throws -> CachedRefreshToken {
        var entity = JSONObject()
        entity["secret"] = .string("refresh")
        if let refusals { entity["refusals"] = .string(refusals) }
        return try CachedRefreshToken(decoding: entity)
    }

    @Test func isStoredWithoutTheToken() throws {
        var credentials = Fixture.credentials()
        credentials.refreshToken = credentials.refreshToken?.refused("a", at: Self.now).refused("b", at: Self.now + 1)
        let bytes = credentials.encoded()
        let read = try AccountCredentials(decoding: bytes) { _ in Fixture.bearerRule }
        #expect(read == credentials && read.refreshToken?.refusals.count == 2)
        #expect(read.encoded() == bytes)
        credentials.refreshToken?.secret = "another"
        #expect(String(decoding: credentials.encoded(), as: UTF8.self).contains("refusals"))
        #expect(!String(decoding: credentials.encoded(), as: UTF8.self).contains(#""refresh""#), "a digest names it")
    }

    @Test func readsARecordOfAnEarlierVersionWithoutRefusals() throws {
        #expect(try decoded(nil).refusals.isEmpty)
        #expect(try decoded(nil).refusedFor("", at: Self.now) == nil)
    }

    @Test(arguments: [
        "", " ", "digest", "digest 1", "digest 1 1", "digest x 1 60", "digest 1 x 60", "digest 1 1 x", "digest -1 1 60",
        "digest 999999999999 1 60", "digest 9223372036854775807 1 60",
    ])
    func ignoresAnUnreadableRefusal(_ text: String) throws {
        #expect(try decoded(text).refusals.isEmpty)
    }

    @Test(arguments: [(1, 60), (2, 120), (6, 1920), (7, 3600), (30, 3600)])
    func pausesForAMinuteToAnHour(count: Int, pause: Int) {
        var token = CachedRefreshToken(secret: "refresh", modifiedAt: Self.now)
        for _ in 0..<count { token = token.refused("", at: Self.now) }
        #expect(token.refusedFor("", at: Self.now) == Int64(pause))
        #expect(token.refused("", at: Self.now, until: Self.now + 7).refusedFor("", at: Self.now) == 7)
    }

    /// Any program that shares the cache can write this value, so no wait is longer than an hour.
    @Test func limitsStoredNumbers() throws {
        let known = try #require(try decoded("d 1 99999999999 99999999999").refusals.first)
        #expect(known.count == 1000 && known.pause == 3600)
        #expect(try decoded("d 1 -5 -5").refusals.first?.pause == 0)
    }

    @Test func concernsOneTokenAndOneRequest() {
        let token = CachedRefreshToken(secret: "refresh", modifiedAt: Self.now).refused("a", at: Self.now)
        #expect(token.refusedFor("a", at: Self.now + 59) == 1)
        #expect(token.refusedFor("a", at: Self.now + 60) == nil)
        #expect(token.refusedFor("a", at: Self.now - 1) == nil, "the clock was set back")
        #expect(token.refusedFor("b", at: Self.now) == nil)
        var rotated = token
        rotated.secret = "rotated"
        #expect(rotated.refusedFor("a", at: Self.now) == nil)
    }

    @Test func keepsTheLastEightRefusals() {
        var token = CachedRefreshToken(secret: "refresh", modifiedAt: Self.now)
        for index in 0..<20 { token = token.refused("\(index)", at: Self.now) }
        #expect(token.refusals.count == 8)
        #expect(token.refusedFor("11", at: Self.now) == nil && token.refusedFor("12", at: Self.now) == 60)
    }
}
