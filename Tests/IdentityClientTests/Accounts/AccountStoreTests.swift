// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import HTTPTypes
import IdentityResources
import IdentityTestSupport
import IdentityTesting
import Testing

@testable import IdentityClient

/// Several providers in one program.
@Suite(.timeLimit(.minutes(1)))
struct AccountStoreTests {
    private struct Folder: Codable, Hashable, Sendable {
        var name: String
        var count = 0
    }

    private let setup: TestSetup
    private let shop: TestSetup

    init() throws {
        setup = try TestSetup(.entra)
        shop = try TestSetup()
    }

    private func type(
        _ name: AccountType.Name,
        _ setup: TestSetup,
        _ change: (inout AccountType) -> Void = { _ in }
    ) throws -> AccountType {
        var type = AccountType(name, configuration: try setup.application().configuration, scopes: ["api.read"])
        change(&type)
        return type
    }

    /// Each call stands for another process.
    private func store() throws -> AccountStore {
        try AccountStore([type("work", setup), type("shop", shop)])
    }

    @Test func keepsTheTypesApart() async throws {
        let store = try store()
        #expect(store.types == ["work", "shop"])
        let work = try await store.acquireTokenInteractively(ofType: "work")
        shop.browser.person = .bob
        let bought = try await store.acquireTokenInteractively(ofType: "shop")
        let accounts = try await store.accounts()
        #expect(accounts.map(\.type) == ["work", "shop"])
        #expect(accounts.map(\.account) == [work.account, bought.account])
        #expect(try await store.accounts(ofType: "shop").map(\.account) == [bought.account])
        #expect(try await self.store().account(withID: accounts[1].id) == accounts[1])
        for (account, result) in zip(accounts, [work, bought]) {
            let hit = try await store.acquireTokenSilently(for: account)
            #expect(hit.accessToken == result.accessToken && hit.source == .cache)
        }
        let application = try store.application(ofType: accounts[1].type)
        #expect(try await application.userInfo(for: accounts[1].account).subject == "subject-bob")
        #expect(setup.provider.count(of: .userInfo) == 0 && shop.provider.count(of: .userInfo) == 1)
        try await store.signOut(accounts[0])
        #expect(try await store.accounts() == [accounts[1]])
        try await expectError(.invalidArgument) { try await store.accounts(ofType: "unknown") }
    }

    @Test func sendsWhatTheTypeAdds() async throws {
        let store = try AccountStore([
            type("shop", shop) {
                $0.extraQueryItems = ["audience": "orders"]
                $0.extraHeaders = ["X-Tenant": "blue"]
            }
        ])
        try await store.acquireTokenInteractively(ofType: "shop") { $0.extraQueryItems["colour"] = "red" }
        let sent = try #require(shop.provider.requests.first { $0.endpoint == .authorization })
        #expect(sent["audience"] == "orders" && sent["colour"] == "red")
        let token = try #require(shop.provider.requests.last { $0.endpoint == .token })
        #expect(token.header("x-tenant") == "blue" && token["audience"] == nil)
    }

    @Test func signsInOnAnotherDeviceAsTheProgramSays() async throws {
        let cache = UnreliableCache()
        cache.refusedWrites = [.account]
        let shop = try TestSetup(cache: cache)
        let store = try AccountStore([type("shop", shop) { $0.extraQueryItems = ["audience": "orders"] }])
        let application = try store.application(ofType: "shop")
        var parameters = DeviceCodeParameters(scopes: ["api.read"])
        parameters.requiresPersistence = true
        let prompts = Shared(0)
        try await expectError(.cache) {
            try await application.acquireTokenWithDeviceCode(parameters) { _ in prompts.withLock { $0 += 1 } }
        }
        #expect(prompts.value == 0 && shop.transport.count == 0)
        cache.refusedWrites = []
        let (shown, show) = AsyncStream.makeStream(of: DeviceCodePrompt.self)
        parameters.extraParameters["colour"] = "red"
        let task = Task { [parameters] in
            try await application.acquireTokenWithDeviceCode(parameters) { show.yield($0) }
        }
        let prompt = try #require(await shown.first { _ in true })
        let sent = try #require(shop.provider.requests.first { $0.endpoint == .deviceAuthorization })
        #expect(sent["audience"] == "orders" && sent["colour"] == "red")
        try await shop.clock.waitForSleepers()
        #expect(shop.provider.approveDevice(userCode: prompt.userCode, as: .alice))
        shop.clock.advance(by: .seconds(5))
        let result = try await task.value
        #expect(try await store.accounts().map(\.account) == [result.account])
    }

    /// An API, and any host that it redirects to, must not receive a gateway's key.
    @Test func sendsExtraHeadersToTheProviderAlone() async throws {
        let network = Network(provider: shop.transport)
        let store = try AccountStore([
            type("shop", shop) {
                $0.configuration.transport = network
                $0.extraHeaders = ["X-Tenant": "blue"]
            }
        ])
        let result = try await store.acquireTokenInteractively(ofType: "shop")
        let application = try store.application(ofType: "shop")
        let client = AuthenticatedClient(application: application, account: result.account, scopes: ["api.read"])
        let url = try #require(URL(string: "https://api.example.test/orders"))
        #expect(try await client.get(url).response.status == .ok)
        #expect(network.visits.value["api.example.test"] == ["-"])
        #expect(network.visits.value["elsewhere.example.test"] == ["-"])
        let atProvider = try #require(network.visits.value[shop.provider.authority.environment])
        #expect(atProvider.count >= 3 && Set(atProvider) == ["blue"])
        // The library's own header fields stay.
        let token = try #require(shop.transport.requests.last { $0.method == .post })
        #expect(token.headerFields[.accept] == "application/json")
        #expect(token.headerFields[.contentType] == "application/x-www-form-urlencoded")
        // Large bodies are still streamed.
        let streaming = try type("shop", shop) {
            $0.configuration.transport = CurlTransport()
            $0.extraHeaders = ["X-Tenant": "blue"]
        }
        #expect(
            try AccountStore([streaming]).application(ofType: "shop").configuration.transport
                is any StreamingHTTPTransport
        )
    }

    @Test(arguments: [
        "client_id", "state", "redirect_uri", "username", "password", "assertion", "grant_type", "code", "",
    ])
    func refusesReservedItems(_ name: String) async throws {
        try await expectError(.invalidArgument) {
            try AccountStore([try type("work", setup) { $0.extraQueryItems = [name: "x"] }])
        }
    }

    @Test(arguments: [
        ("Authorization", "Bearer x"), ("cookie", "a=b"), ("Content-Type", "text/plain"), ("Host", "x"), ("a b", "x"),
        ("X-A", "line\r\nbreak"), ("Proxy-Authorization", "x"),
    ])
    func refusesHeadersThatAreNotItsOwn(_ name: String, _ value: String) async throws {
        try await expectError(.invalidArgument) {
            try AccountStore([try type("work", setup) { $0.extraHeaders = [name: value] }])
        }
    }

    @Test func refusesTypesThatCannotBeToldApart() async throws {
        try await expectError(.invalidArgument) { try AccountStore([type("a", setup), type("a", shop)]) }
        try await expectError(.invalidArgument) { try AccountStore([type("a", setup), type("b", setup)]) }
    }

    @Test func keepsUserDataUntilTheSignOut() async throws {
        let store = try store()
        try await store.acquireTokenInteractively(ofType: "work")
        let account = try #require(try await store.accounts().first)
        #expect(try await store.userData(Folder.self, of: account) == nil)
        try await store.setUserData(Folder(name: "Inbox"), of: account)
        let other = try self.store()
        #expect(try await other.userData(of: account) == Folder(name: "Inbox"))
        try await other.updateUserData(Folder.self, of: account) { $0?.count += 1 }
        #expect(try await store.userData(of: account) == Folder(name: "Inbox", count: 1))
        // Data of another type throws an error when it is read, and can be replaced.
        try await expectError(.invalidArgument) { try await store.userData(Int.self, of: account) }
        try await store.setUserData(7, of: account)
        #expect(try await store.userData(Int.self, of: account) == 7)
        let long = String(repeating: "x", count: 64 * 1024)
        let tooLarge = try await expectError(.invalidArgument) { try await store.setUserData(long, of: account) }
        #expect(tooLarge.message.contains("65536") && !tooLarge.message.contains("xxx"))
        #expect(try await store.userData(Int.self, of: account) == 7)

        try await store.signOut(account)
        try await expectError(.noTokensFound) { try await store.setUserData(8, of: account) }
        try await store.acquireTokenInteractively(ofType: "work")
        #expect(try await store.userData(Int.self, of: account) == nil)
    }

    @Test func losesNoUserDataToAnotherProcess() async throws {
        let store = try store()
        try await store.acquireTokenInteractively(ofType: "work")
        let account = try #require(try await store.accounts().first)
        try await store.setUserData(0, of: account)
        try await withThrowingTaskGroup { group in
            for _ in 0..<8 {
                let process = try self.store()
                group.addTask {
                    for _ in 0..<25 { try await process.updateUserData(Int.self, of: account) { $0 = ($0 ?? 0) + 1 } }
                }
            }
            try await group.waitForAll()
        }
        #expect(try await store.userData(Int.self, of: account) == 200)
    }

    @Test func tellsOfEverythingInOneStream() async throws {
        let (store, other) = (try store(), try store())
        var changes = try await store.changes().makeAsyncIterator()
        try await other.acquireTokenInteractively(ofType: "work")
        let account = try #require(try await other.accounts().first)
        var change = try #require(await changes.next())
        #expect(change.kind.word == "added" && change.old == nil && change.new == account && change.type == "work")

        setup.clock.advance(by: .seconds(3600))
        _ = try await other.acquireTokenSilently(for: account)
        change = try #require(await changes.next())
        #expect(change.kind.word == "tokenChanged" && change.old == account && change.new == account)

        try await other.setUserData("blue", of: account)
        change = try #require(await changes.next())
        #expect(change.kind.word == "userDataChanged" && change.new == account)

        setup.provider.revokeSessions(of: .alice)
        try await expectError(.signInExpired) {
            try await store.acquireTokenSilently(for: account) { $0.forcesRefresh = true }
        }
        change = try #require(await changes.next())
        guard case .acquisitionFailed(let error) = change.kind else {
            Issue.record("\(change.kind)")
            return
        }
        #expect(error.code == .signInExpired && change.old == account && change.new == account)
        // The account survives the loss of its token.
        #expect(try await store.accounts() == [account])

        try await other.signOut(account)
        change = try #require(await changes.next())
        #expect(change.kind.word == "removed" && change.old == account && change.new == nil)

        shop.browser.behaviour = .cancel
        try await expectError(.accessDenied) { try await store.acquireTokenInteractively(ofType: "shop") }
        change = try #require(await changes.next())
        #expect(change.kind.word == "acquisitionFailed" && change.type == "shop" && change.old == nil)
    }

    @Test func givesTheLiveTokensOfATypesScopesAndTellsOfTheirEnd() async throws {
        let store = try store()
        let first = try await store.acquireTokenInteractively(ofType: "shop")
        let account = try #require(try await store.accounts().first)
        var changes = try await store.changes().makeAsyncIterator()
        let application = try store.application(ofType: account.type)
        var parameters = SilentParameters(scopes: ["api.read"], account: account.account)
        var tokens = application.liveTokens(parameters).makeAsyncIterator()
        #expect(try await tokens.next()?.accessToken == first.accessToken)
        (parameters.scopes, parameters.forcesRefresh) = (["api.write"], true)
        var others = application.liveTokens(parameters).makeAsyncIterator()
        try await expectError(.consentRequired) { try await others.next() }
        let change = try #require(await changes.next())
        #expect(change.kind.word == "acquisitionFailed" && change.type == "shop" && change.new == account)
        #expect(try await others.next() == nil && shop.provider.count(of: .token) == 2)
        #expect(throws: AuthenticationError.self) { try store.application(ofType: "unknown") }
    }

    @Test func exchangesATokenOfAnAccount() async throws {
        let store = try store()
        try await store.acquireTokenInteractively(ofType: "shop")
        let account = try #require(try await store.accounts().first)
        var changes = try await store.changes().makeAsyncIterator()
        let parameters = TokenExchangeParameters(.accessToken(of: account.account, scopes: ["api.read"]))
        let application = try store.application(ofType: "shop")
        #expect(try await application.exchangeToken(parameters).tokenType == "Bearer")
        #expect(setup.provider.count(of: .token) == 0 && shop.provider.count(of: .token) == 2)
        shop.provider.failNext(.token, with: .refusal("invalid_target"))
        try await expectError(.invalidTarget) { try await application.exchangeToken(parameters) }
        #expect(try #require(await changes.next()).new == account)
    }

    @Test func findsTheSignInThatAnAddressBelongsTo() async throws {
        let store = try store()
        setup.browser.followsRedirects = false
        shop.browser.followsRedirects = false
        let first = try await store.prepareAuthorization(ofType: "work")
        let second = try await store.prepareAuthorization(ofType: "shop")
        try await shop.browser.open(second.url)
        let redirect = try await shop.browser.redirectURL()
        let stray = try #require(URL(string: "\(second.redirectURI)/?code=x&state=wrong"))
        #expect(try await store.handleRedirect(stray)?.accessToken == nil)
        let elsewhere = try #require(
            URL(string: "http://127.0.0.1:1/elsewhere?" + (redirect.absoluteString.split(separator: "?").last ?? ""))
        )
        #expect(try await store.handleRedirect(elsewhere)?.accessToken == nil)
        let result = try #require(try await store.handleRedirect(redirect))
        #expect(try await store.accounts().map(\.account) == [result.account])
        #expect(try await store.accounts().map(\.type) == ["shop"])
        #expect(try await store.handleRedirect(redirect)?.accessToken == nil)  // the redirect is spent

        try await setup.browser.open(first.url)
        #expect(try await store.handleRedirect(try await setup.browser.redirectURL())?.accessToken != nil)
        #expect(try await store.accounts().count == 2)
    }

    @Test func keepsABoundedNumberOfPreparedSignIns() async throws {
        let store = try store()
        shop.browser.followsRedirects = false
        let first = try await store.prepareAuthorization(ofType: "shop")
        for _ in 0..<16 { _ = try await store.prepareAuthorization(ofType: "shop") }
        try await shop.browser.open(first.url)
        #expect(try await store.handleRedirect(try await shop.browser.redirectURL())?.accessToken == nil)
    }
}

/// A provider, and an API that redirects its callers. Records the `X-Tenant` that each host received.
private final class Network: HTTPTransport {
    let visits = Shared<[String: [String]]>([:])
    private let provider: any HTTPTransport

    init(provider: any HTTPTransport) {
        self.provider = provider
    }

    func send(_ request: HTTPRequest, body: [UInt8]?) async throws -> (HTTPResponse, [UInt8]) {
        let host = request.authority ?? ""
        let tenant = HTTPField.Name("X-Tenant").flatMap { request.headerFields[$0] } ?? "-"
        visits.withLock { $0[host, default: []].append(tenant) }
        switch host {
        case "api.example.test":
            return (HTTPResponse(status: .found, headerFields: [.location: "https://elsewhere.example.test/"]), [])
        case "elsewhere.example.test": return (HTTPResponse(status: .ok), [])
        default: return try await provider.send(request, body: body)
        }
    }
}

extension AccountStoreChange.Kind {
    fileprivate var word: String { String("\(self)".prefix { $0 != "(" }) }
}
