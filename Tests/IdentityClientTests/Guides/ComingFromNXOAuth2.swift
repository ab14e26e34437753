// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import HTTPTypes
import IdentityClient
import IdentityKeyring
import IdentityResources
import IdentityTestSupport
import IdentityTesting
import LoopbackHTTP
import OAuthWire
import Testing

/// The steps of the guide *Coming from NXOAuth2Client*, exactly as written there (`Scripts/test` compares), in the order of
/// Microsoft's tutorials for the v2.0 endpoint and for Azure AD B2C. Providers and APIs are on the loopback interface.
@Suite(.timeLimit(.minutes(1)))
struct ComingFromNXOAuth2 {
    private struct User: Decodable {
        let displayName: String
    }

    private struct Bar {
        var fraction: Double?
    }

    private func configuration(
        _ provider: TestIdentityProvider,
        _ browser: ScriptedBrowser
    ) throws -> ClientConfiguration {
        var configuration = ClientConfiguration(
            clientID: "test-client",
            authority: try provider.listen(),
            cache: InMemoryTokenCache()
        )
        configuration.browser = browser
        return configuration
    }

    @Test func aTypeIsConfiguredAsTheGuideSays() throws {
        let work = ClientConfiguration(
            clientID: "your-client-id",
            authority: try .entra(.common),  // or .oauth2(…) with the two addresses
            cache: DesktopTokenCache(applicationName: "Contoso")  // import IdentityKeyring
        )
        let store = try AccountStore([AccountType("work", configuration: work, scopes: ["User.Read"])])
        #expect(store.types == ["work"])
    }

    @Test func aPolicyIsConfiguredAsTheGuideSays() throws {
        let (id, tenant, cache): (ClientID, _, _) = ("your-client-id", "fabrikam.onmicrosoft.com", InMemoryTokenCache())
        let fabrikam = try Authority.b2c(host: "fabrikam.b2clogin.com", tenant: tenant, policy: "B2C_1_sisu")
        let tasks = ClientConfiguration(clientID: id, authority: fabrikam, cache: cache)
        let own = Scope(rawValue: id.rawValue)
        let store = try AccountStore([AccountType("tasks", configuration: tasks, scopes: [own])])
        let authority = try store.application(ofType: "tasks").configuration.authority
        #expect(authority.description.lowercased().contains("fabrikam.onmicrosoft.com/b2c_1_sisu"))
    }

    @Test func theTutorialForTheV2EndpointRuns() async throws {
        let provider = try TestIdentityProvider(profile: .entra)
        let graph = try ResourceServer.graph(of: provider)
        let browser = ScriptedBrowser(provider: nil)
        let work = try configuration(provider, browser)
        let store = try AccountStore([AccountType("work", configuration: work, scopes: ["User.Read"])])
        var (askedFor, seen): (Int, StoredAccount?) = (0, nil)
        func signInPage() { askedFor += 1 }
        func start() async throws {
            guard let account = try await store.accounts(ofType: "work").first else { return signInPage() }
            seen = account
        }
        try await start()
        #expect(askedFor == 1)

        // In a window of the program's own.
        browser.followsRedirects = false
        var welcomed: Account?
        func welcome(_ account: Account) { welcomed = account }
        func show(_ page: URL) async throws -> URL {
            try await browser.open(page)
            return try await browser.redirectURL()
        }
        func ask() async throws {
            let request = try await store.prepareAuthorization(ofType: "work")
            let url = try await show(request.url)
            if let result = try await store.handleRedirect(url) { welcome(result.account) }
        }
        try await ask()
        try await start()
        let account = try #require(seen)
        #expect(account.account == welcomed && account.account.username == "alice@example.test" && askedFor == 1)
        #expect(try await store.acquireTokenSilently(for: account).source == .cache)

        // The search. An apostrophe and a combining sign are one character, and Graph still sees the apostrophe.
        let (typed, users) = ("O'\u{301}Brien", try graph.url("/v1.0/users"))
        var found: [User] = []
        func search(_ client: AuthenticatedClient) async throws {
            let name = typed.unicodeScalars.map { $0 == "'" ? "''" : String($0) }.joined()
            let filter = "startswith(givenName,'\(name)')"
            let search = AuthenticatedClient.request(.get, to: users, query: ["$filter": filter])
            for try await page in client.pages(from: search) { found += try page.values(of: User.self) }
        }
        let directory = try TemporaryDirectory()
        let path = directory.path + "/photo.jpg"
        try Data([1, 2, 3]).write(to: URL(filePath: path))
        let request = AuthenticatedClient.request(.post, to: try graph.url("/v1.0/photo"))
        var bar = Bar()
        let app = try store.application(ofType: account.type)
        let client = AuthenticatedClient(application: app, account: account.account, scopes: ["User.Read"])
        try await search(client)
        #expect(found.map(\.displayName) == ["Zoë O'Brien"])
        #expect(graph.requests.last?.query?.contains("startswith%28givenName%2C%27O%27%27%CC%81Brien%27%29") == true)
        let upload = client.upload(.multipart([.file("photo", path: path)]), with: request)
        for await progress in upload.progress { bar.fraction = progress.fraction }
        let (response, body) = try await upload.value
        #expect(response.status == .ok && text(body).hasPrefix("POST ") && bar.fraction == 1)
    }

    @Test func changesAreObservedAsTheGuideSays() async throws {
        let provider = try TestIdentityProvider(profile: .entra)
        let work = try configuration(provider, ScriptedBrowser(provider: nil))
        let store = try AccountStore([AccountType("work", configuration: work, scopes: ["User.Read"])])
        let result = try await store.acquireTokenInteractively(ofType: "work")
        let account = try #require(try await store.accounts().first { $0.account == result.account })

        let (reloads, reports) = (Shared<[StoredAccount?]>([]), Shared<[any Error]>([]))
        let observer = Task {
            @Sendable func reload(_ old: StoredAccount?, _ new: StoredAccount?) { reloads.withLock { $0.append(new) } }
            @Sendable func report(_ error: any Error) { reports.withLock { $0.append(error) } }
            for await change in try await store.changes() {
                switch change.kind {
                case .acquisitionFailed(let error): report(error)
                default: reload(change.old, change.new)
                }
            }
        }
        defer { observer.cancel() }
        var number = 0
        try await wait {
            number += 1
            try await store.setUserData(number, of: account)
            return reloads.value.contains(account)
        }
        provider.revokeSessions(of: .alice)
        await #expect(throws: AuthenticationError.self) {
            try await store.acquireTokenSilently(for: account) { $0.forcesRefresh = true }
        }
        try await wait { !reports.value.isEmpty }
        #expect((reports.value.first as? AuthenticationError)?.family == .interactionRequired)
        #expect(try await store.accounts() == [account], "A failed renewal does not remove the account.")
    }

    /// The provider knows no such token, so that nothing is taken over.
    @Test func aRefreshTokenIsTakenOverAsTheGuideSays() async throws {
        let provider = try TestIdentityProvider(profile: .entra)
        let work = try configuration(provider, ScriptedBrowser(provider: nil))
        let store = try AccountStore([AccountType("work", configuration: work, scopes: ["User.Read"])])
        let old = "a-token-of-nxoauth2"
        func takeOver() async throws -> AuthenticationResult {
            let app = try store.application(ofType: "work")
            let result = try await app.acquireToken(byRefreshToken: old, scopes: ["User.Read"])
            return result
        }
        await #expect(throws: AuthenticationError.self) { try await takeOver() }
        #expect(provider.requests.contains { $0["refresh_token"] == old })
        #expect(try await store.accounts().isEmpty)
    }

    /// Two people, each with the own tasks: the cookies of the first go with the sign-out.
    @Test func theTutorialForB2CRuns() async throws {
        let provider = try TestIdentityProvider(
            profile: .b2c(tenant: "fabrikam.onmicrosoft.com", policies: ["b2c_1_sisu"])
        )
        let browser = ScriptedBrowser(provider: nil)
        let tasks = try configuration(provider, browser)
        let store = try AccountStore([AccountType("tasks", configuration: tasks, scopes: ["test-client"])])
        let service = try Self.taskService(of: provider)
        let list = try service.url("/api/tasks")

        func add(_ text: String, _ account: StoredAccount) async throws -> String {
            let app = try store.application(ofType: account.type)
            let client = AuthenticatedClient(application: app, account: account.account, scopes: ["test-client"])
            let new = AuthenticatedClient.request(.post, to: list)
            let added = try await client.send(new, body: .form(["Text": text]))
            let (answer, items) = try await client.get(list)
            #expect(added.response.status == .created && answer.status == .ok)
            return String(decoding: items, as: UTF8.self)
        }
        func signIn() async throws -> StoredAccount {
            try await store.acquireTokenInteractively(ofType: "tasks")
            return try #require(try await store.accounts(ofType: "tasks").first)
        }
        func signOut(_ account: StoredAccount) async throws {
            var parameters = SignOutParameters()
            parameters.endsBrowserSession = true
            try await store.signOut(account, parameters: parameters)
        }
        let alice = try await signIn()
        #expect(alice.account.username == "alice@example.test")
        #expect(try await add("Buy milk & bread", alice) == #"[{"Text":"Buy milk & bread"}]"#)
        try await signOut(alice)
        #expect(try await store.accounts().isEmpty && provider.count(of: .endSession) == 1)

        browser.person = .bob
        let bob = try await signIn()
        #expect(bob.account.username == "bob@example.test")
        #expect(try await add("Call Alice", bob) == #"[{"Text":"Call Alice"}]"#)
    }

    /// The API of the tutorial: a list for each person, and a form to add to it.
    private static func taskService(of provider: TestIdentityProvider) throws -> ResourceServer {
        let tasks = Shared<[String: [String]]>([:])
        return try ResourceServer { request in
            let token = request.headers["Authorization"]?.split(separator: " ").last.map(String.init)
            guard let person = token.flatMap(provider.introspect(accessToken:))?.person.objectID else {
                return .unauthorized("Bearer")
            }
            if request.method == "POST" {
                guard request.headers["Content-Type"] == FormURLEncoded.contentType,
                    let new = try? FormURLEncoded.decode(text(request.body)).first(where: { $0.0 == "Text" })?.1
                else { return LoopbackResponse(status: 400) }
                tasks.withLock { $0[person, default: []].append(new) }
                return LoopbackResponse(status: 201)
            }
            let own = tasks.value[person] ?? []
            return .json("[" + own.map { #"{"Text":"\#($0)"}"# }.joined(separator: ",") + "]")
        }
    }
}
