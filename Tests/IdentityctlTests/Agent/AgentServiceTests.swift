// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import FoundationEssentials
import IdentityClient
import IdentityTesting
import Logging
import OAuthWire
import Synchronization
import SystemSupport
import Testing

@testable import identityctl

/// The answers of the agent, with a provider in this process.
@Suite struct AgentServiceTests {
    private let provider: TestIdentityProvider
    private let application: PublicClientApplication
    private let clock = ManualClock(now: .now)  // whether an ID token is still good is asked of the real time

    init() async throws {
        try await self.init(TestIdentityProvider.Settings())
    }

    private init(_ settings: TestIdentityProvider.Settings) async throws {
        provider = try TestIdentityProvider(clock: clock, settings: settings)
        let browser = ScriptedBrowser(provider: provider, receiver: InMemoryRedirectReceiver())
        application = try PublicClientApplication(provider.configuration(browser: browser))
        _ = try await application.acquireTokenInteractively(InteractiveParameters(scopes: ["files.read"]))
    }

    /// Another account of the same client.
    private func signInBob() async throws {
        let browser = ScriptedBrowser(provider: provider, signingInAs: .bob, receiver: InMemoryRedirectReceiver())
        var configuration = provider.configuration(browser: browser)
        configuration.cache = application.configuration.cache
        let other = try PublicClientApplication(configuration)
        _ = try await other.acquireTokenInteractively(InteractiveParameters(scopes: ["files.read"]))
    }

    private func service(
        _ variables: [String: String] = [:],
        of other: PublicClientApplication? = nil,
        show: @escaping ShowNotice = { _, _ in throw NoPersonToAsk(reason: "this is a test") }
    ) throws -> AgentService {
        let options = try ProviderOptions.parse(["--client-id", "test-client", "--issuer", "https://issuer.test"])
        let profile = AgentProfile(
            name: "work",
            environment: Variables(variables),
            options: options,
            scopes: ["files.read"],
            login: SharedOptions().adding("--client-id", "test-client"),
            keepsVariables: true,
            version: ""
        )
        let application = other ?? application
        let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        return AgentService(
            .only(profile),
            logger: logger,
            passPhrases: PassPhrasePrompt(),
            ask: show,
            show: show,
            signIn: { _ in true },
            make: { _ in application }
        )
    }

    private func ask(_ service: AgentService, _ text: String, isControl: Bool = false) async throws -> JSONObject {
        try JSONObject(parsing: await service.answer(Array(text.utf8), from: nil, isControl: isControl))
    }

    @Test(
        .timeLimit(.minutes(1)),
        arguments: [
            #"{"request":"access_token"}"#, #"{"request":"access_token","account":"work"}"#,
            #"{"request":"access_token","issuer":"https://issuer.test/","min_valid_period":60}"#,
            #"{"request":"access_token","client_id":"test-client","scope":"files.read openid"}"#,
        ]
    )
    func handsOutATokenAndNoRefreshToken(request: String) async throws {
        let answer = try await ask(service(), request)
        #expect(answer.string("status") == "success", "\(answer)")
        let token = try #require(answer.string("access_token"))
        #expect(!token.isEmpty && answer.integer("expires_at") != nil && answer.string("issuer") != nil)
        let text = String(decoding: answer.serialized(), as: UTF8.self)
        #expect(!text.contains("refresh"))
        #expect(answer.string("id_token") == nil)
    }

    @Test(
        .timeLimit(.minutes(1)),
        arguments: [
            (#"{"request":"access_token","account":"other"}"#, [:], "configuration.invalid_argument"),
            (#"{"request":"access_token","issuer":"https://other.test"}"#, [:], "configuration.invalid_argument"),
            (
                #"{"request":"access_token","account":"work","client_id":"other"}"#, [:],
                "configuration.invalid_argument"
            ),
            (#"{"request":"access_token","scope":"files.write"}"#, [:], "configuration.blocked_by_policy"),
            (#"{"request":"access_token","audience":"api"}"#, [:], "configuration.blocked_by_policy"),
            (
                #"{"request":"access_token","scope":"files.read"}"#, ["IDENTITYCTL_AGENT_SCOPE": "mail.read"],
                "configuration.blocked_by_policy"
            ),
            (#"{"request":"access_token","user":"bob"}"#, [:], "interaction_required.no_tokens"),
            (#"{"request":"access_token","serves":"https://git.test"}"#, [:], "cache.agent_not_served"),
            (
                #"{"request":"access_token","account":"work","serves":"https://git.test.evil.test"}"#,
                ["IDENTITYCTL_SERVES": "https://git.test"], "cache.agent_not_served"
            ),
            (
                #"{"request":"access_token","client_id":"test-client","serves":"git.test"}"#,
                ["IDENTITYCTL_SERVES": "https://git.test"], "cache.agent_not_served"
            ),
            (#"{"request":"unlock"}"#, [:], "configuration.blocked_by_policy"),
            (#"{"request":"stop"}"#, [:], "configuration.blocked_by_policy"),
            (#"{"request":"access_token","request":"lock"}"#, [:], "configuration.invalid_argument"),
        ] as [(String, [String: String], String)]
    )
    func refuses(request: String, variables: [String: String], code: String) async throws {
        let answer = try await ask(service(variables), request)
        #expect(answer.string("status") == "failure" && answer.string("code") == code, "\(answer)")
        #expect(answer.string("error")?.isEmpty == false && answer.string("access_token") == nil)
        #expect((answer.string("info") != nil) == (code == "interaction_required.no_tokens"))
    }

    @Test(.timeLimit(.minutes(1))) func allowsWhatTheProfileNames() async throws {
        let variables = ["IDENTITYCTL_AGENT_SCOPE": "*"]
        let answer = try await ask(service(variables), #"{"request":"access_token","scope":"files.read"}"#)
        #expect(answer.string("status") == "success", "\(answer)")
        // The cached token would give more than that.
        let fewer = try await ask(
            service(["IDENTITYCTL_AGENT_SCOPE": "openid"]),
            #"{"request":"access_token","scope":"openid"}"#
        )
        #expect(fewer.string("code") == "configuration.blocked_by_policy", "\(fewer)")
    }

    @Test(.timeLimit(.minutes(1)), arguments: ["", #","account":"work""#, #","issuer":"https://issuer.test""#])
    func saysWhichAddressTheTokenIsFor(more: String) async throws {
        let variables = ["IDENTITYCTL_SERVES": "https://git.test https://b.test", "IDENTITYCTL_USERNAME": "bot"]
        let request = #"{"request":"access_token","serves":"https://git.test/a""# + more + "}"
        let answer = try await ask(service(variables), request)
        #expect(answer.string("serves") == "https://git.test/a" && answer.string("username") == "bot", "\(answer)")
    }

    @Test(.timeLimit(.minutes(1))) func answersNothingWhileLocked() async throws {
        let service = try service()
        #expect(try await ask(service, #"{"request":"lock"}"#).string("status") == "success")
        for request in [#"{"request":"access_token"}"#, #"{"request":"loaded_accounts"}"#] {
            #expect(try await ask(service, request).string("code") == "cache.agent_locked")
        }
        #expect(try await ask(service, #"{"request":"status"}"#).bool("locked") == true)
        #expect(try await ask(service, #"{"request":"unlock"}"#).string("status") == "failure")
        #expect(try await ask(service, #"{"request":"unlock"}"#, isControl: true).string("status") == "success")
        #expect(try await ask(service, #"{"request":"access_token"}"#).string("status") == "success")
        #expect(try await ask(service, #"{"request":"loaded_accounts"}"#).strings("info") == ["work"])
    }

    @Test(.timeLimit(.minutes(1))) func asksThePersonForWhatThePolicyAllows() async throws {
        let answers = Mutex(["allow", "deny"])
        let service = try service(["IDENTITYCTL_AGENT_CONFIRM": "always"]) { notice, _ in
            #expect(notice.text.contains("files.read"))
            return answers.withLock { $0.removeFirst() }
        }
        let refused = try await ask(service, #"{"request":"access_token","scope":"files.write"}"#)
        #expect(refused.string("code") == "configuration.blocked_by_policy")
        #expect(try await ask(service, #"{"request":"access_token"}"#).string("status") == "success")
        let denied = try await ask(service, #"{"request":"access_token"}"#)
        #expect(denied.string("code") == "user_cancelled.access_denied" && denied.string("access_token") == nil)
        let typo = try self.service(["IDENTITYCTL_AGENT_CONFIRM": "sometimes"])
        let answer = try await ask(typo, #"{"request":"access_token"}"#)
        #expect(answer.string("code") == "configuration.invalid_argument")
    }

    /// Each member that changes what is handed out is a question of its own, though one yes counts for an hour.
    @Test(.timeLimit(.minutes(1))) func asksForEachAccountKindAndClaims() async throws {
        try await signInBob()
        let texts = Mutex<[String]>([])
        let service = try service(["IDENTITYCTL_AGENT_CONFIRM": "1h", "IDENTITYCTL_AGENT_AUDIENCE": "test-api"]) {
            notice,
            _ in
            texts.withLock { $0.append(notice.text) }
            return "allow"
        }
        for (members, told) in [
            (#""user":"alice@example.test""#, "access token of alice@example.test, with the scopes files.read."),
            (#""user":"bob@example.test""#, "access token of bob@example.test,"),
            (#""user":"alice@example.test","id_token":true"#, "and an ID token of alice@example.test,"),
            (#""user":"alice@example.test","claims":"{\"a\":1}""#, #"with the claims {"a":1}."#),
            (#""user":"alice@example.test","claims":"{\"a\":2}""#, #"with the claims {"a":2}."#),
            (#""user":"alice@example.test","scope":"files.read openid""#, "with the scopes files.read openid."),
        ] {
            let before = texts.withLock(\.count)
            for _ in 0..<2 {
                let answer = try await ask(service, #"{"request":"access_token","# + members + "}")
                #expect(answer.string("status") == "success", "\(answer)")
            }
            let new = texts.withLock { Array($0.dropFirst(before)) }
            #expect(new.count == 1 && new.first?.contains(told) == true, "\(members): \(new)")
        }
        // These choose among the tokens that the yes is for.
        let before = texts.withLock(\.count)
        for members in [
            #""force_refresh":true"#, #""min_valid_period":60"#, #""cache_only":true"#, #""allow_expired":true"#,
        ] {
            let request = #"{"request":"access_token","user":"alice@example.test","# + members + "}"
            #expect(try await ask(service, request).string("status") == "success")
        }
        #expect(texts.withLock(\.count) == before)
    }

    /// A caller without a yes causes no request to the provider, whatever it demands, and a yes is asked for once.
    @Test(
        .timeLimit(.minutes(1)),
        arguments: [
            #","claims":"{\"a\":1}""#, #","force_refresh":true"#, #","refused_token":"TOKEN""#,
            #","id_token":true,"force_refresh":true"#, "",
        ]
    )
    func asksThePersonBeforeTheProvider(members: String) async throws {
        let texts = Mutex<[String]>([])
        let rules = ["IDENTITYCTL_AGENT_CONFIRM": "always", "IDENTITYCTL_AGENT_SCOPE": "*"]
        func service(answering answer: String) throws -> AgentService {
            try self.service(rules) { notice, _ in
                texts.withLock { $0.append(notice.text) }
                return answer
            }
        }
        let account = try #require(try await application.allAccounts().first)
        let kept = try await application.acquireTokenSilently(scopes: ["files.read"], account: account).accessToken
        if members.isEmpty { clock.advance(by: .seconds(4000)) }  // it has expired
        provider.forgetRequests()
        let request = #"{"request":"access_token""# + members.replacing("TOKEN", with: kept) + "}"
        let denying = try service(answering: "deny")
        for _ in 0..<3 {
            #expect(try await ask(denying, request).string("code") == "user_cancelled.access_denied")
        }
        #expect(provider.requests.isEmpty && texts.withLock(\.count) == 1)
        #expect(try await ask(service(answering: "allow"), request).string("status") == "success")
        let (first, second) = texts.withLock { ($0.first, $0.dropFirst()) }
        #expect(provider.count(of: .token) == 1 && Array(second) == [first], "\(first ?? "")")
    }

    /// The person allowed one scope, and the provider gives more.
    @Test(.timeLimit(.minutes(1))) func asksAgainIfTheTokenHasMoreThanWasAllowed() async throws {
        let answers = Mutex(["allow", "deny"])
        let texts = Mutex<[String]>([])
        let rules = ["IDENTITYCTL_AGENT_CONFIRM": "always", "IDENTITYCTL_AGENT_SCOPE": "*"]
        let service = try service(rules) { notice, _ in
            texts.withLock { $0.append(notice.text) }
            return answers.withLock { $0.removeFirst() }
        }
        provider.failNext(
            .token,
            with: .answer(
                status: 200,
                body: #"{"access_token":"wide","token_type":"Bearer","expires_in":3600,"scope":"files.write admin"}"#
            )
        )
        let answer = try await ask(service, #"{"request":"access_token","scope":"files.write"}"#)
        #expect(answer.string("code") == "user_cancelled.access_denied" && answer.string("access_token") == nil)
        #expect(texts.withLock { $0.map { $0.contains("admin") } } == [false, true])
    }

    /// Only a caller that has the token can have it renewed, and the yes is for renewed tokens too.
    @Test(.timeLimit(.minutes(1))) func aYesIsForTheTokenInPlaceOfARefusedOne() async throws {
        let asked = Mutex(0)
        let service = try service(["IDENTITYCTL_AGENT_CONFIRM": "1h"]) { _, _ in
            asked.withLock { $0 += 1 }
            return "allow"
        }
        func token(_ members: String = "") async throws -> String {
            let answer = try await ask(service, #"{"request":"access_token""# + members + "}")
            return try #require(answer.string("access_token"), "\(answer)")
        }
        let first = try await token()
        let requests = provider.count(of: .token)
        #expect(try await token(#","refused_token":"guessed""#) == first)
        #expect(provider.count(of: .token) == requests)
        let second = try await token(#","refused_token":"\#(first)""#)
        #expect(second != first && provider.count(of: .token) == requests + 1)
        #expect(try await token(#","refused_token":"\#(first)""#) == second)
        #expect(provider.count(of: .token) == requests + 1 && asked.withLock(\.self) == 1)
    }

    /// A provider may give a token for another audience than was asked for.
    @Test(.timeLimit(.minutes(1)), arguments: [(#""b""#, false), (#"["c","b"]"#, false), (#"["b","a"]"#, true)])
    func checksTheAudienceOfAToken(audience: String, isGiven: Bool) async throws {
        let service = try service(["IDENTITYCTL_AGENT_AUDIENCE": "a"])
        let token = [#"{"alg":"RS256"}"#, #"{"aud":\#(audience)}"#, "signature"]
            .map { Base64URL.encode(Array($0.utf8)) }.joined(separator: ".")
        let body = #"{"access_token":"\#(token)","token_type":"Bearer","expires_in":3600,"scope":"files.read"}"#
        provider.failNext(.token, with: .answer(status: 200, body: body))
        let answer = try await ask(service, #"{"request":"access_token","audience":"a","force_refresh":true}"#)
        #expect(answer.string("access_token") == (isGiven ? token : nil), "\(answer)")
        #expect(answer.string("code") == (isGiven ? nil : "configuration.blocked_by_policy"), "\(answer)")
    }

    @Test(.timeLimit(.minutes(1))) func handsOutOnlyTheAccountOfTheProfile() async throws {
        try await signInBob()
        let bound = try service(["IDENTITYCTL_ACCOUNT": "alice@example.test"])
        let alice = try await ask(bound, #"{"request":"access_token"}"#)
        let id = try #require(alice.object("report")?.object("account")?.string("id"))
        for user in ["alice@example.test", id] {
            let answer = try await ask(bound, #"{"request":"access_token","user":"\#(user)"}"#)
            #expect(answer.string("access_token") == alice.string("access_token"), "\(answer)")
        }
        for user in ["bob@example.test", "carol@example.test"] {
            let refused = try await ask(bound, #"{"request":"access_token","user":"\#(user)"}"#)
            #expect(refused.string("code") == "configuration.blocked_by_policy", "\(refused)")
        }
        let free = try await ask(service(), #"{"request":"access_token","user":"bob@example.test"}"#)
        #expect(free.object("report")?.object("account")?.string("username") == "bob@example.test", "\(free)")
    }

    /// A token without its key is of no use, and one that is not bound is less than the profile wants.
    @Test func refusesAProfileWhoseTokensAreBound() async throws {
        let answer = try await ask(service(["IDENTITYCTL_SCHEME": "pop"]), #"{"request":"access_token"}"#)
        #expect(answer.string("code") == "configuration.blocked_by_policy", "\(answer)")
    }

    /// The person may lock the screen in place of an answer.
    @Test(.timeLimit(.minutes(1))) func handsOutNothingAfterALockDuringTheQuestion() async throws {
        let made = Promise<AgentService>()
        let service = try service(["IDENTITYCTL_AGENT_CONFIRM": "1h"]) { _, _ in
            _ = await (try made.value()).answer(Array(#"{"request":"lock"}"#.utf8), from: nil, isControl: false)
            return "allow"
        }
        made.finish(.success(service))
        #expect(try await ask(service, #"{"request":"access_token"}"#).string("code") == "cache.agent_locked")
    }

    @Test(.timeLimit(.minutes(1))) func locksWithTheScreen() async throws {
        let service = try service()
        func isLocked() async throws -> Bool? { try await ask(service, #"{"request":"status"}"#).bool("locked") }
        service.screenChanged(isLocked: true)
        #expect(try await ask(service, #"{"request":"access_token"}"#).string("code") == "cache.agent_locked")
        service.screenChanged(isLocked: false)
        #expect(try await isLocked() == false)
        // A lock on request ends on request alone, whatever the screen does before or after it.
        for isFirst in [true, false] {
            if isFirst { service.screenChanged(isLocked: true) }
            _ = try await ask(service, #"{"request":"lock"}"#)
            if !isFirst { service.screenChanged(isLocked: true) }
            service.screenChanged(isLocked: false)
            #expect(try await isLocked() == true)
            _ = try await ask(service, #"{"request":"unlock"}"#, isControl: true)
            #expect(try await isLocked() == false)
        }
    }

    @Test(.timeLimit(.minutes(1))) func remindsOfASignInThatARequestNeeds() async throws {
        let shown = Promise<Notice>()
        let service = try service(["IDENTITYCTL_ACCOUNT": "bob"]) { notice, _ in
            shown.finish(.success(notice))
            return nil
        }
        let answer = try await ask(service, #"{"request":"access_token"}"#)
        #expect(answer.string("info")?.hasSuffix(": identityctl login --client-id test-client") == true)
        #expect(try await shown.value().title == "Sign in for 'work'")
    }

    @Test(.timeLimit(.minutes(1))) func remindsOfASignInThatARenewalNeeds() async throws {
        let shown = Promise<Notice>()
        let service = try service { notice, _ in
            shown.finish(.success(notice))
            return nil
        }
        #expect(try await ask(service, #"{"request":"access_token"}"#).string("status") == "success")
        provider.revokeSessions(of: .alice)
        clock.advance(by: .seconds(3700))
        await service.renew()
        #expect(try await shown.value().title == "Sign in for 'work'")
    }

    /// A request shares only a look at the accounts that began after it came: what another process did before it counts.
    @Test(.timeLimit(.minutes(1))) func answersARequestByALookThatBeganAfterIt() async throws {
        let cache = HeldCache(application.configuration.cache)
        var configuration = application.configuration
        configuration.cache = cache
        let service = try service(of: PublicClientApplication(configuration))
        cache.holdsNext()
        let first = Task { try await ask(service, #"{"request":"access_token","application_hint":"a"}"#) }
        try await cache.isHeld.value()
        let account = try #require(try await application.allAccounts().first)
        try await application.remove(account)
        let second = try await ask(service, #"{"request":"access_token","application_hint":"b"}"#)
        #expect(second.string("code") == "interaction_required.no_tokens", "\(second)")
        cache.gate.open()
        _ = try await first.value
    }

    @Test(.timeLimit(.minutes(1))) func renewsATokenThatEndsSoonBeforeItIsAskedForAgain() async throws {
        let service = try service()
        _ = try await ask(service, #"{"request":"access_token"}"#)
        let requests = provider.count(of: .token)
        await service.renew()
        #expect(provider.count(of: .token) == requests)
        clock.advance(by: .seconds(3100))
        await service.renew()
        #expect(provider.count(of: .token) == requests + 1)
        clock.advance(by: .seconds(3100))
        await service.renew(at: .now + .seconds(5 * 3600))  // not asked for lately
        #expect(provider.count(of: .token) == requests + 1)
    }

    /// Neither claims, which no cached token answers, nor a wish that no token fulfils may become a refresh in each minute.
    @Test(
        .timeLimit(.minutes(1)),
        arguments: [
            (#""claims":"{\"a\":1}""#, 3600), (#""min_valid_period":86400"#, 3600), (#""force_refresh":true"#, 3600),
            (#""scope":"files.read""#, 300),
        ]
    )
    func renewsNoTokenMinuteByMinute(member: String, lifetime: Int) async throws {
        var settings = TestIdentityProvider.Settings()
        settings.accessTokenLifetime = .seconds(lifetime)
        let setup = try await Self(settings)
        let service = try setup.service()
        let answer = try await setup.ask(service, #"{"request":"access_token","# + member + "}")
        #expect(answer.string("status") == "success", "\(answer)")
        let requests = setup.provider.count(of: .token)
        for _ in 0..<2 {
            setup.clock.advance(by: .seconds(60))
            await service.renew()
        }
        #expect(setup.provider.count(of: .token) == requests)
    }
}

/// A cache that holds back a list of records once.
private final class HeldCache: TokenCache {
    let gate = TestGate()
    let isHeld = Promise<Void>()
    private let base: any TokenCache
    private let holds = Atomic(false)

    init(_ base: any TokenCache) { self.base = base }

    func holdsNext() { holds.store(true, ordering: .relaxed) }

    func record(for key: CacheKey) async throws -> CacheRecord? { try await base.record(for: key) }

    func replace(_ expected: CacheRecord?, with new: CacheRecord?, for key: CacheKey) async throws -> Bool {
        try await base.replace(expected, with: new, for: key)
    }

    func records(of kind: CacheKey.Kind, in group: CacheGroup) async throws -> [CacheKey: CacheRecord] {
        let records = try await base.records(of: kind, in: group)
        if holds.exchange(false, ordering: .relaxed) {
            isHeld.fulfil()
            try await gate.wait()
        }
        return records
    }
}
