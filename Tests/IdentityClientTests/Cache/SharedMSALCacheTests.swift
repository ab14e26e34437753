// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Glibc
import IdentityCacheTesting
import IdentityTestSupport
import IdentityTesting
import SystemSupport
import Testing

@testable import IdentityClient
@testable import IdentityMSALCaches

/// The file of other programs: its lock, its content, and what is beside it.
@Suite struct SharedMSALCacheTests {
    let directory: TemporaryDirectory
    let group: CacheGroup
    private static let client: ClientID = "11111111-2222-3333-4444-555555555555"

    init() throws {
        directory = try TemporaryDirectory()
        group = .application(Self.client)
    }

    private var file: String { "\(directory.path)/msal.json" }
    private var lock: String { file + ".lockfile" }

    private func cache(_ store: MSALLocation? = nil, timeout: Duration = .seconds(10)) throws -> SharedMSALCache {
        try SharedMSALCache(
            store ?? .file(file),
            clientID: Self.client,
            fallback: FileTokenCache(directory: "\(directory.path)/others"),
            lockTimeout: timeout
        )
    }

    private func put(_ text: String, at path: String? = nil, mode: mode_t = 0o600) throws {
        let path = path ?? file
        try Data(text.utf8).write(to: URL(fileURLWithPath: path))
        try #require(unsafe chmod(path, mode) == 0)
    }

    private var content: String? {
        FileManager.default.contents(atPath: file).map { String(decoding: $0, as: UTF8.self) }
    }

    private func only(_ cache: SharedMSALCache) async throws -> (key: CacheKey, record: CacheRecord) {
        let records = try await cache.records(of: .account, in: group)
        #expect(records.count == 1)
        let first = try #require(records.first)
        return (first.key, first.value)
    }

    private func changed(_ record: CacheRecord, secret: String) throws -> CacheRecord {
        var credentials = try AccountCredentials(decoding: record.bytes, rule: Authority.scopeRule(forPartition:))
        credentials.refreshToken?.secret = secret
        return CacheRecord(bytes: credentials.encoded())
    }

    @Test(.timeLimit(.minutes(2))) func conforms() async throws {
        try await TokenCacheConformance(costRecords: nil) { [self] in try cache() }.run()
    }

    @Test func replacesWhatIsExpectedOnly() async throws {
        try put(MSALSamples.family)
        let (one, two) = (try cache(), try cache())
        let (key, record) = try await only(one)
        let new = try changed(record, secret: "RT2")
        #expect(try await two.record(for: key) == record)
        #expect(try await one.replace(record, with: new, for: key))
        #expect(try await two.record(for: key) == new)
        #expect(try await one.record(for: key) == new)
        #expect(try await two.replace(record, with: changed(record, secret: "RT3"), for: key) == false)
        #expect(try await two.replace(nil, with: new, for: key) == false)
        #expect(content?.contains("RT2") == true && content?.contains("RT3") == false)
        #expect(try await two.replace(new, with: nil, for: key))
        #expect(try await one.record(for: key) == nil)
        #expect(try directory.names(in: "").sorted() == ["msal.json"])
        #expect(try SystemCall.status(of: file, followingLinks: false)?.mode == 0o600)
    }

    @Test func seesWhatAnotherProgramWritesInPlace() async throws {
        try put(MSALSamples.family)
        let cache = try cache()
        let (key, record) = try await only(cache)
        for number in 0..<20 {
            try put(MSALSamples.family.replacing("RT1", with: "R\(10 + number)"))
            let found = try #require(try await cache.record(for: key))
            #expect(found != record && String(decoding: found.bytes, as: UTF8.self).contains("R\(10 + number)"))
        }
    }

    /// MSAL Python trusts its memory if the file's time is not later than its last look at the clock.
    @Test func stampsTheFileLaterThanAnyReaderThatIsJustReading() async throws {
        try put(MSALSamples.family)
        let cache = try cache()
        let (key, record) = try await only(cache)
        let begin = SystemCall.now
        #expect(try await cache.replace(record, with: changed(record, secret: "RT2"), for: key))
        let stamp = try #require(SystemCall.fingerprint(of: file)?.modified)
        #expect(begin.duration(to: stamp) > .seconds(1))
    }

    @Test(arguments: [
        "{", "[]", "null", #"{"Account":{},"Account":{}}"#, #"{"x":"\ud800"}"#, "\u{feff}{}", #"{"a":1} x"#,
        String(repeating: #"{"a":"#, count: 100),
    ])
    func leavesAFileAsItIsThatItCannotRead(_ text: String) async throws {
        try put(text)
        let cache = try cache()
        let key = CacheKey(group: group, kind: .account, name: String(repeating: "a", count: 64))
        await #expect(throws: AuthenticationError.self) { try await cache.record(for: key) }
        await #expect(throws: AuthenticationError.self) { try await cache.records(of: .account, in: group) }
        await #expect(throws: AuthenticationError.self) { try await cache.checkWritable(in: group) }
        #expect(content == text)
        #expect(try directory.names(in: "") == ["msal.json"])
    }

    @Test func readsNothingInAnEmptyFile() async throws {
        try put("")
        #expect(try await cache().records(of: .account, in: group).isEmpty)
    }

    @Test func refusesAFileThatOthersMayReadOrThatIsALink() async throws {
        try put(MSALSamples.family, mode: 0o644)
        await expect(.cachePermissions) { try await cache().records(of: .account, in: group) }
        try put(MSALSamples.family, at: "\(directory.path)/real")
        try FileManager.default.removeItem(atPath: file)
        try FileManager.default.createSymbolicLink(atPath: file, withDestinationPath: "\(directory.path)/real")
        await expect(.cachePermissions) { try await cache().records(of: .account, in: group) }
    }

    @Test func writesNothingIntoAFileThatIsOnlyRead() async throws {
        try put(MSALSamples.family)
        let cache = try cache(.readOnly(file))
        let (key, record) = try await only(cache)
        await expect(.cache) { try await cache.replace(record, with: nil, for: key) }
        #expect(content == MSALSamples.family)
        try put("{")
        await expect(.cache) { try await cache.record(for: key) }
        #expect(try directory.names(in: "") == ["msal.json"])
    }

    /// The lock of MSAL Python and Node is that the file exists.
    @Test(arguments: ["", "\(getpid()) program.py", "\u{feff}\(getpid()) dotnet", "{\(getpid())} {go}", "not a number"])
    func waitsForALockFileThatExists(_ text: String) async throws {
        try put(MSALSamples.family)
        try put(text, at: lock)
        let waiting = try cache(timeout: .milliseconds(30))
        let (key, record) = try await only(waiting)
        let new = try changed(record, secret: "RT2")
        await expect(.cacheBusy) { try await waiting.replace(record, with: new, for: key) }
        #expect(content == MSALSamples.family && FileManager.default.fileExists(atPath: lock))
        async let isReplaced = cache().replace(record, with: new, for: key)
        try FileManager.default.removeItem(atPath: lock)
        #expect(try await isReplaced)
    }

    /// The lock of .NET, Go and Python with portalocker is `flock`, however old the file is.
    @Test func waitsForAFileLock() async throws {
        try put(MSALSamples.family)
        try put("1 flock", at: lock)
        let waiting = try cache(timeout: .milliseconds(30))
        let (key, record) = try await only(waiting)
        guard let file = try Descriptor.file(at: lock) else {
            Issue.record("The lock file is not there.")
            return
        }
        #expect(try file.tryLock())
        await expect(.cacheBusy) { try await waiting.replace(record, with: nil, for: key) }
        file.unlock()
        #expect(try await waiting.replace(record, with: nil, for: key))
        #expect(!FileManager.default.fileExists(atPath: lock))
    }

    @Test(arguments: [
        ("1 python", -59, false), ("1 python", -61, true), ("2147483647 python", -4, false),
        ("2147483647 python", -6, true), ("\u{feff}2147483647 dotnet", -6, true), ("{2147483647} {go}", -6, true),
        ("", -6, true), ("", -4, false), ("1 identityctl flock", 0, true), ("1 python", 3600, false),
        // Dated ahead, because the clock was set back since.
        ("2147483647 python", 3600, true), ("2147483647 python", 59, false), ("", 3600, true), ("odd", 3600, false),
        // After a power loss, content that was not on the disk.
        ("\0\0\0", -6, true), ("\0\0\0", -4, false),
    ])
    func takesOverTheLockOfAProcessThatIsGone(_ text: String, _ age: Int, _ isStale: Bool) async throws {
        try put(text, at: lock)
        var status = stat()
        try #require(unsafe stat(lock, &status) == 0)
        let read = FileStatus(status)
        var now = read.fingerprint.modified.timespec
        now.tv_sec -= age
        #expect(MSALLock.isStale(read, Array(text.utf8), at: FileTime(now)) == isStale)
    }

    @Test func clearsWhatADeadWriterLeft() async throws {
        try put(MSALSamples.family)
        try put("half", at: "\(directory.path)/.msal.json.identity-new")
        let cache = try cache()
        let (key, record) = try await only(cache)
        #expect(try await cache.replace(record, with: nil, for: key))
        #expect(try directory.names(in: "") == ["msal.json"])
    }

    @Test func namesTheFilesOfOtherPrograms() throws {
        let home = try #require(ProcessInfo.processInfo.environment["HOME"])
        #expect(try MSALLocation.azureIdentityPython().path == "\(home)/.IdentityService/msal.cache.nocae")
        #expect(try MSALLocation.azureIdentityPython(name: "x", isCAE: true).path == "\(home)/.IdentityService/x.cae")
        #expect(try MSALLocation.azureIdentityDotNet().path.hasSuffix("/.IdentityService/msal.cache.nocae"))
        #expect(try MSALLocation.azureCLI().path.hasSuffix("/msal_token_cache.json"))
    }

    private func expect(_ code: AuthenticationError.Code, _ work: () async throws -> some Any) async {
        do {
            _ = try await work()
            Issue.record("No error was thrown.")
        } catch {
            #expect((error as? AuthenticationError)?.code == code, "\(error)")
        }
    }
}
