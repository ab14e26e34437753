// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import HTTPTypes
import IdentityClient
import IdentityTesting
import Synchronization

/// One person who really signed in, and copies of her record under other names in any cache.
struct Household: Sendable {
    let provider: TestIdentityProvider
    let transport: RepeatingTransport
    private let account: Account
    private let record: String

    init() async throws {
        provider = try TestIdentityProvider()
        transport = RepeatingTransport(provider.transport)
        let receiver = InMemoryRedirectReceiver()
        let cache = InMemoryTokenCache()
        var configuration = Self.configuration(cache, provider)
        configuration.transport = transport
        configuration.redirectReceiver = receiver
        configuration.browser = ScriptedBrowser(provider: provider, receiver: receiver)
        let app = try PublicClientApplication(configuration)
        account = try await app.acquireTokenInteractively(scopes: Self.scopes).account
        // The answer to this refresh is the one that is repeated.
        _ = try await app.acquireTokenSilently(Self.forced(account))
        let records = try await cache.records(of: .account, in: .application(configuration.clientID))
        guard let record = records.values.first else { throw Missing() }
        self.record = String(decoding: record.bytes, as: UTF8.self)
    }

    static let scopes: Set<Scope> = ["User.Read", "Mail.Read", "Files.Read"]
    static let subset: Set<Scope> = ["mail.read", "User.Read"]
    private static let subject = TestIdentityProvider.Person.alice.subject

    /// The account of the person with a number; 0 is the one who signed in.
    func account(_ number: Int) -> Account {
        Account(id: .init(rawValue: renamed(account.id.rawValue, number)), environment: account.environment)
    }

    /// A program that finds `count` accounts in its cache, each with a token of 2 KB.
    func app(
        _ cache: any TokenCache,
        accounts count: Int,
        clock: any WallClock = SystemClock()
    ) async throws -> PublicClientApplication {
        let keys = KeyCache()
        let asking = try PublicClientApplication(Self.configuration(keys, provider))
        for number in 0..<count {
            _ = try await asking.account(withID: account(number).id)
            guard let key = keys.asked else { throw Missing() }
            _ = try await cache.replace(nil, with: CacheRecord(bytes: Array(renamed(record, number).utf8)), for: key)
        }
        var configuration = Self.configuration(cache, provider)
        configuration.transport = transport
        configuration.clock = clock
        return try PublicClientApplication(configuration)
    }

    /// A clock by which the tokens have expired.
    var later: any WallClock { ManualClock(now: Date.now.addingTimeInterval(7200)) }

    static func forced(_ account: Account) -> SilentParameters {
        var parameters = SilentParameters(scopes: scopes, account: account)
        parameters.forcesRefresh = true
        return parameters
    }

    private func renamed(_ text: String, _ number: Int) -> String {
        number == 0 ? text : text.replacing(Self.subject, with: "person-\(number)")
    }

    private static func configuration(
        _ cache: any TokenCache,
        _ provider: TestIdentityProvider
    ) -> PublicClientApplication.Configuration {
        PublicClientApplication.Configuration(clientID: "test-client", authority: provider.authority, cache: cache)
    }

    struct Missing: Error {}
}

/// Sends the first refresh to the provider, and answers later ones as that one was, but with tokens of their own: what
/// a provider computes is not what is measured here.
final class RepeatingTransport: HTTPTransport {
    private let base: any HTTPTransport
    private let state = Mutex(State())

    private struct State {
        var idToken = ""
        var grants = 0
        var namesPerson = false
    }

    init(_ base: any HTTPTransport) {
        self.base = base
    }

    /// Whether refreshes come with an ID token, which is then verified.
    func givesIDTokens(_ gives: Bool) {
        state.withLock { bash.namesPerson = gives }
    }

    /// How many tokens were asked for.
    var grants: Int { state.withLock { $0.grants } }

    func send(_ request: HTTPRequest, body: [UInt8]?) async throws -> (HTTPResponse, [UInt8]) {
        guard let body, String(decoding: body, as: UTF8.self).contains("grant_type=refresh_token") else {
            return try await base.send(request, body: body)
        }
        if state.withLock({ $0.idToken.isEmpty }) {
            let (_, answer) = try await base.send(request, body: body)
            let grant = try JSONDecoder().decode(Grant.self, from: Data(answer))
            state.withLock { $0.idToken = grant.idToken }
        }
        let (number, idToken) = state.withLock { state in
            state.grants += 1
            return (state.grants, state.namesPerson ? state.idToken : nil)
        }
        let token = "\(number)-" + String(repeating: "t", count: 2000)
        let identity = idToken.map { #","id_token":"\#($0)""# } ?? ""
        let answer =
            #"{"access_token":"\#(token)","refresh_token":"r\#(number)","token_type":"Bearer","expires_in":3600"#
        let fields: HTTPFields = [.contentType: "application/json"]
        return (HTTPResponse(status: .ok, headerFields: fields), Array((answer + identity + "}").utf8))
    }

    private struct Grant: Decodable {
        var idToken: String

        enum CodingKeys: String, CodingKey {
            case idToken = "id_token"
        }
    }
}

/// Is empty, and remembers what it was asked for.
private final class KeyCache: TokenCache {
    private let key = Mutex<CacheKey?>(nil)

    var asked: CacheKey? { key.withLock { $0 } }

    func record(for key: CacheKey) async throws -> CacheRecord? {
        self.key.withLock { $0 = key }
        return nil
    }

    func replace(_ expected: CacheRecord?, with new: CacheRecord?, for key: CacheKey) async throws -> Bool { false }

    func records(of kind: CacheKey.Kind, in group: CacheGroup) async throws -> [CacheKey: CacheRecord] { [:] }
}

/// A directory that is removed with the object.
final class ScratchDirectory: Sendable {
    let path: String

    init() {
        path = FileManager.default.temporaryDirectory.appending(path: "identity-benchmarks-\(UUID().uuidString)").path
    }

    deinit {
        try? FileManager.default.removeItem(atPath: path)
    }
}
