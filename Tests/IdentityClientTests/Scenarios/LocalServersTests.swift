// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import IdentityClient
import IdentityTestSupport
import IdentityTesting
import LoopbackHTTP
import OAuthWire
import Testing

/// Tokens that go to this computer without TLS: another user may have taken the port.
@Suite(.timeLimit(.minutes(1))) struct LocalServersTests {
    private func server(_ port: UInt16 = 0) throws -> LoopbackServer {
        try LoopbackServer.start(hosts: [.ipv4], port: port) { _ in LoopbackResponse(status: 204) }
    }

    @Test func ownProgramsGetTokens() throws {
        let server = try server()
        let address = "http://127.0.0.1:\(server.port)/mcp"
        try LocalServers().check(address)
        #expect(LocalServers(at: [address, nil, "https://127.0.0.1:\(server.port)/"]) == LocalServers())
        #expect(LocalServers.isOne(address) && !LocalServers.isOne("https://127.0.0.1/") && !LocalServers.isOne(nil))
    }

    /// The kernel may hand a port on, to a container for example.
    @Test func aPortWithoutASocketIsAsAtTheSignIn() async throws {
        let server = try server()
        let address = "http://127.0.0.1:\(server.port)"
        let withServer = LocalServers(at: [address])
        server.close()
        try await expectError(.connectionFailed) { try withServer.check(address) }
        try withServer.check(address, acceptsUnlisted: true)
        try withServer.check("https://127.0.0.1:\(server.port)")
        try LocalServers(at: [address]).check(address)
        let again = try self.server(server.port)
        try LocalServers(at: []).check("http://127.0.0.1:\(again.port)")
    }

    @Test(.enabled(if: NobodysServer.canStart, "only root can start another user's program"))
    func anotherUserIsAsAtTheSignIn() async throws {
        let theirs = try NobodysServer()
        let address = "http://localhost:\(theirs.port)/x"
        for check in [
            { try LocalServers().check(address) }, { try LocalServers().check(address, acceptsUnlisted: true) },
        ] {
            let error = try await expectError(.untrustedAuthority) { try check() }
            let (number, name) = NobodysServer.user
            #expect(error.message.contains("\(name) (\(number))") && error.message.contains("localhost:\(theirs.port)"))
        }
        let seen = LocalServers(at: [address])
        try seen.check(address)
        try seen.check("http://localhost:\(theirs.port)/y?z")
        try await expectError(.untrustedAuthority) { try seen.check("http://127.0.0.1:\(theirs.port)/x") }

        var credentials = AccountCredentials(
            signInID: "s",
            partition: "p",
            environment: "e",
            clientID: "c",
            accountID: Account.ID(rawValue: "a"),
            homeAccountID: "h"
        )
        credentials.localServers = seen
        let read = try AccountCredentials(decoding: credentials.encoded()) { _ in ScopeRule(ignoresCase: false) }
        #expect(read == credentials && read.unknown.members.isEmpty)
    }

    /// A program for the resource at `port`, with a provider on this computer.
    private func setup() throws -> TestSetup {
        try TestSetup { $0.requiresOfflineAccess = false }
    }

    @Test(.enabled(if: NobodysServer.canStart, "only root can start another user's program"))
    func noTokenIsGivenOutForAnotherUsersServer() async throws {
        let (setup, server) = (try setup(), try server())
        let resource = "http://127.0.0.1:\(server.port)/mcp"
        let issuer = setup.provider.authority.url
        let authority = try Authority.oauth2(issuer: issuer, resource: resource)
        let (application, result) = try await setup.signedIn { $0.authority = authority }
        _ = try await application.acquireTokenSilently(scopes: ["api.read"], account: result.account)
        server.close()
        let theirs = try NobodysServer(port: server.port)
        try await expectError(.untrustedAuthority) {
            try await application.acquireTokenSilently(scopes: ["api.read"], account: result.account)
        }
        let again = try await application.acquireTokenInteractively(scopes: ["api.read"])
        _ = try await application.acquireTokenSilently(scopes: ["api.read"], account: again.account)
        withExtendedLifetime(theirs) {}
    }

    @Test(.enabled(if: NobodysServer.canStart, "only root can start another user's program"))
    func noRefreshTokenIsSentToAnotherUsersServer() async throws {
        let setup = try setup()
        let authority = try setup.provider.listen()
        let port = try #require(WebAddress(authority.url)?.port)
        let (application, result) = try await setup.signedIn {
            $0.authority = authority
            $0.transport = CurlTransport()
        }
        setup.provider.close()
        let theirs = try NobodysServer(port: port)
        setup.clock.advance(by: .seconds(3600))
        try await expectError(.untrustedAuthority) {
            try await application.acquireTokenSilently(scopes: ["api.read"], account: result.account)
        }
        var parameters = SignOutParameters()
        parameters.revokesTokens = true
        let outcome = try await application.signOut(result.account, parameters: parameters).revocation
        guard case .failed(let error) = outcome else {
            Issue.record("The refresh token was taken back by another user's server.")
            return
        }
        #expect(error.code == .untrustedAuthority && !theirs.received.contains("refresh_token"))
    }
}
