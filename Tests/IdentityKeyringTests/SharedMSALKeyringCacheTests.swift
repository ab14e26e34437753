// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Glibc
import IdentityClient
import IdentityTestSupport
import IdentityTesting
import Testing

@testable import IdentityKeyring
@testable import IdentityMSALKeyring

/// The keyring item of other programs: its content, its lock, its file, and what is beside it.
@Suite(.enabled(if: keyringSupport != nil, "run Scripts/test-keyring"))
struct SharedMSALKeyringCacheTests {
    private static let client: ClientID = "11111111-2222-3333-4444-555555555555"
    private static let schema = "com.contoso.tokens"

    /// The content of another program: an account, its refresh token, and members that this library does not know.
    private static func content(_ secret: String = "RT1") -> String {
        let (person, tenant) = ("aaaaaaaa-0000-0000-0000-00000000000a", "bbbbbbbb-0000-0000-0000-00000000000b")
        let account = #""home_account_id":"\#(person).\#(tenant)","environment":"login.microsoftonline.com","x":1.50"#
        return #"""
            {"Unknown":[1.0e2],"Account":{"a":{\#(account),"realm":"\#(tenant)","local_account_id":"\#(person)","username":"alice@contoso.com","authority_type":"MSSTS"}},
            "RefreshToken":{"r":{\#(account),"credential_type":"RefreshToken","client_id":"\#(client.rawValue)","secret":"\#(secret)","target":"a"}}}
            """#
    }

    private let group = CacheGroup.application(client)

    private func item(_ session: KeyringSession, usesBase64: Bool = false) -> MSALKeyringItem {
        let file = "\(session.directory)/signal/tokens"
        return usesBase64
            ? .dotNet(file: file, schema: Self.schema, attributes: ["product": "desk"], label: "Tokens")
            : .python(file: file, schema: Self.schema, attributes: ["product": "desk"], label: "Tokens")
    }

    private func cache(
        _ session: KeyringSession,
        _ item: MSALKeyringItem? = nil,
        lockTimeout: Duration = .seconds(10),
        _ change: (inout KeyringSettings) -> Void = { _ in }
    ) throws -> SharedMSALKeyringCache {
        SharedMSALKeyringCache(
            item ?? self.item(session),
            clientID: Self.client,
            keyring: try session.cache(change),
            lockTimeout: lockTimeout
        )
    }

    private func put(_ text: String, _ session: KeyringSession, _ more: String = "") throws {
        let attributes = "xdg:schema \(Self.schema) product desk \(more)"
        try session.run("printf %s '\(text)' | secret-tool store --label=Theirs \(attributes)")
    }

    private func stored(_ session: KeyringSession) throws -> String {
        try session.run("secret-tool lookup xdg:schema \(Self.schema) product desk")
    }

    private func only(_ cache: SharedMSALKeyringCache) async throws -> (key: CacheKey, record: CacheRecord) {
        let records = try await cache.records(of: .account, in: group)
        #expect(records.count == 1)
        let first = try #require(records.first)
        return (first.key, first.value)
    }

    private func changed(_ record: CacheRecord, _ secret: String, isRefused: Bool = false) throws -> CacheRecord {
        var credentials = try AccountCredentials(decoding: record.bytes) { _ in ScopeRule(ignoresCase: true) }
        credentials.refreshToken?.secret = secret
        if isRefused { credentials.refreshToken = credentials.refreshToken?.refused("a", at: 1) }
        return CacheRecord(bytes: credentials.encoded())
    }

    private func names(_ session: KeyringSession) throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: "\(session.directory)/signal").sorted()
    }

    @Test(.timeLimit(.minutes(1)), arguments: [false, true])
    func changesAnAccountAndNothingElse(_ usesBase64: Bool) async throws {
        let session = try KeyringSession(.unlocked)
        let encoded = { (text: String) in usesBase64 ? Data(text.utf8).base64EncodedString() : text }
        try put(encoded(Self.content()), session)
        // An item keeps its form, whichever the program would give a new one.
        let (one, two) = (try cache(session, item(session, usesBase64: !usesBase64)), try cache(session))
        let (key, record) = try await only(one)
        let new = try changed(record, "RT2")
        #expect(try await two.record(for: key) == record)
        #expect(try await one.replace(record, with: new, for: key))
        #expect(try await two.record(for: key) == new)
        #expect(try await one.record(for: key) == new)
        #expect(try await two.replace(record, with: changed(record, "RT3"), for: key) == false)
        #expect(try await two.replace(nil, with: new, for: key) == false)
        var text = try stored(session)
        if usesBase64 { text = String(decoding: try #require(Data(base64Encoded: text)), as: UTF8.self) }
        #expect(text.hasPrefix(#"{"Unknown":[1.0e2],"Account":{"a":{"home_account_id":"aaaaaaaa-"#))
        #expect(text.contains(#""x":1.50"#))
        #expect(text.contains("RT2") && !text.contains("RT1") && !text.contains("RT3"))
        #expect(try names(session) == ["tokens"])
        // MSAL Python trusts its memory if the file's time is not later than its last look at the clock.
        var status = stat()
        try #require(unsafe stat("\(session.directory)/signal/tokens", &status) == 0)
        #expect(status.st_mode & 0o777 == 0o600)
        #expect(Date(timeIntervalSince1970: TimeInterval(status.st_mtim.tv_sec)) > .now)
        #expect(try session.run("secret-tool search product desk 2>&1").contains("label = Theirs"))
        #expect(try await two.replace(new, with: nil, for: key))
        #expect(try await one.record(for: key) == nil)
        #expect(try !stored(session).contains("RT2"))
    }

    @Test(.timeLimit(.minutes(1))) func makesAnItemThatTheOtherProgramsFind() async throws {
        let session = try KeyringSession(.unlocked)
        try put(Self.content(), session)
        let (key, record) = try await only(try cache(session))
        try session.run("secret-tool clear xdg:schema \(Self.schema) product desk")
        let cache = try cache(session, item(session, usesBase64: true))
        try await cache.checkWritable(in: group)
        #expect(try await cache.replace(nil, with: changed(record, "RT2"), for: key))
        let text = try #require(Data(base64Encoded: stored(session)))
        #expect(String(decoding: text, as: UTF8.self).contains("RT2"))
        #expect(try session.run("secret-tool search product desk 2>&1").contains("label = Tokens"))
        // What is no account is beside the item, and a record in another form too.
        let other = CacheKey(group: group, kind: .account, name: String(repeating: "a", count: 64))
        for key in [other, CacheKey(group: group, kind: .provider, name: other.name)] {
            #expect(try await cache.replace(nil, with: CacheRecord("x"), for: key))
            #expect(try await cache.record(for: key) == CacheRecord("x"))
            #expect(try await cache.keyring.record(for: key) == nil)
        }
        #expect(try await cache.records(of: .account, in: group).count == 2)
        // Which of two items the others use cannot be known.
        try put(Self.content(), session, "more yes")
        #expect(await failure { try await cache.replace(nil, with: record, for: key) }.code == .cache)
        #expect(try names(session) == ["tokens"])
    }

    @Test(.timeLimit(.minutes(1))) func waitsForTheOtherProgramsLock() async throws {
        let session = try KeyringSession(.unlocked)
        try put(Self.content(), session)
        let waiting = try cache(session, lockTimeout: .milliseconds(30)) { $0.writeTimeout = .milliseconds(500) }
        let (key, record) = try await only(waiting)
        let lock = "\(session.directory)/signal/tokens.lockfile"
        try session.run("mkdir -m 700 '\(session.directory)/signal'; echo \(getpid()) python >'\(lock)'")
        let new = try changed(record, "RT2")
        #expect(await failure { try await waiting.replace(record, with: new, for: key) }.code == .cacheBusy)
        #expect(try names(session) == ["tokens.lockfile"] && stored(session) == Self.content())
        try FileManager.default.removeItem(atPath: lock)
        // The lock is given back if the keyring does not answer under it.
        try session.signal(SIGSTOP, "KEYRING_PID")
        let silent = await failure { try await waiting.replace(record, with: new, for: key) }
        #expect(silent.code == .keyringTimedOut && silent.time < .seconds(5))
        #expect(try !names(session).contains("tokens.lockfile"))
        try session.signal(SIGCONT, "KEYRING_PID")
        let other = try cache(session)
        let (_, current) = try await only(other)
        #expect(try await other.replace(current, with: changed(record, "RT3"), for: key))
    }

    @Test(.timeLimit(.minutes(1))) func writesNothingIntoAnItemThatIsOnlyRead() async throws {
        let session = try KeyringSession(.unlocked)
        try put(Self.content(), session)
        let item = MSALKeyringItem.readOnly(schema: Self.schema, attributes: ["product": "desk"])
        let (cache, second) = (try cache(session, item), try cache(session, item))
        let (key, record) = try await only(cache)
        try await cache.checkWritable(in: group)
        let new = try changed(record, "RT2")
        #expect(try await cache.replace(new, with: record, for: key) == false)
        #expect(try await cache.replace(record, with: new, for: key))
        #expect(try await second.record(for: key) == new)
        #expect(try await only(second).record == new)
        // After a sign-out here, the item's account is not signed in.
        #expect(try await second.replace(new, with: nil, for: key))
        #expect(try await cache.record(for: key) == nil)
        #expect(try await cache.records(of: .account, in: group).isEmpty)
        #expect(try await cache.replace(nil, with: new, for: key))
        #expect(try stored(session) == Self.content())
        // A refused token gives way to another one of the item.
        let refused = try changed(record, "RT2", isRefused: true)
        #expect(try await cache.replace(new, with: refused, for: key))
        #expect(try await second.record(for: key) == record)
        let same = try changed(record, "RT1", isRefused: true)
        #expect(try await second.replace(record, with: same, for: key))
        #expect(try await cache.record(for: key) == same)
        try put(Self.content("RT4"), session)
        #expect(
            try await eventually {
                let bytes = try await cache.record(for: key)?.bytes ?? []
                return String(decoding: bytes, as: UTF8.self).contains("RT4")
            }
        )
    }

    @Test(.timeLimit(.minutes(1))) func saysThatTheKeyringIsLocked() async throws {
        let session = try KeyringSession(.locked)
        let cache = try cache(session)
        let key = CacheKey(group: group, kind: .account, name: String(repeating: "a", count: 64))
        let read = await failure { try await cache.record(for: key) }
        #expect(read.code == .keyringLocked && read.time < .seconds(5))
        #expect(await failure { try await cache.checkWritable(in: group) }.code == .keyringLocked)
        #expect(await failure { try await cache.records(of: .account, in: group) }.code == .keyringLocked)
        #expect(!FileManager.default.fileExists(atPath: "\(session.directory)/signal"))
    }

    @Test(.timeLimit(.minutes(1))) func leavesAnItemAsItIsThatItCannotRead() async throws {
        let session = try KeyringSession(.unlocked)
        for text in ["{", "[]", "====", "e30", #"{"Account":{},"Account":{}}"#] {
            try put(text, session)
            let cache = try cache(session)
            #expect(await failure { try await cache.records(of: .account, in: group) }.code == .cache, "\(text)")
            #expect(await failure { try await cache.checkWritable(in: group) }.code == .cache, "\(text)")
            #expect(try stored(session) == text)
        }
    }

    @Test func namesTheSchemaAsMSALPythonDoes() {
        let item = MSALKeyringItem.python(file: "/home/alice/tokens")
        #expect(item.attributes == ["xdg:schema": Digest.sha256("/home/alice/tokens")])
        #expect(Digest.sha256("abc") == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad")
        #expect(item.isWritable && !MSALKeyringItem.azureIdentityDotNet.isWritable)
    }
}
