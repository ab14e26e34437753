// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import AccessTokenInterceptor
import GRPCCore
import GRPCInProcessTransport
import IdentityClient
import IdentityTesting
import Testing

/// Texts as messages.
struct Text: MessageSerializer, MessageDeserializer {
    func serialize<Bytes: GRPCContiguousBytes>(_ message: String) -> Bytes { Bytes(Array(message.utf8)) }
    func deserialize<Bytes: GRPCContiguousBytes>(_ bytes: Bytes) -> String {
        bytes.withUnsafeBytes { String(decoding: $0, as: UTF8.self) }
    }
}

/// A server that takes the tokens of a provider, but for one.
struct Notes: RegistrableRPCService {
    static let list = MethodDescriptor(fullyQualifiedService: "notes.Notes", method: "List")
    let provider: TestIdentityProvider
    let refused: String?

    func registerMethods<Transport: ServerTransport>(with router: inout RPCRouter<Transport>) {
        router.registerHandler(forMethod: Self.list, deserializer: Text(), serializer: Text()) { request, _ in
            let header = request.metadata[stringValues: "authorization"].first { _ in true } ?? ""
            let token = String(header.dropFirst("Bearer ".count))
            guard token != refused, provider.accepts(accessToken: token) else {
                throw RPCError(code: .unauthenticated, message: "not this token")
            }
            return StreamingServerResponse(single: ServerResponse(message: "a note"))
        }
    }
}

@Suite(.timeLimit(.minutes(1))) struct AccessTokenInterceptorTests {
    private let provider: TestIdentityProvider
    private let application: PublicClientApplication

    init() throws {
        provider = try TestIdentityProvider()
        let receiver = InMemoryRedirectReceiver()
        var configuration = provider.configuration(browser: ScriptedBrowser(provider: provider, receiver: receiver))
        configuration.redirectReceiver = receiver
        application = try PublicClientApplication(configuration)
    }

    private func call(_ parameters: SilentParameters, refusing refused: String? = nil) async throws -> String {
        let transport = InProcessTransport()
        let service = Notes(provider: provider, refused: refused)
        return try await withGRPCServer(transport: transport.server, services: [service]) { _ in
            let interceptor = AccessTokenInterceptor(application, parameters)
            return try await withGRPCClient(transport: transport.client, interceptors: [interceptor]) { client in
                try await client.unary(
                    request: ClientRequest(message: "all"),
                    descriptor: Notes.list,
                    serializer: Text(),
                    deserializer: Text(),
                    options: .defaults
                ) { try $0.message }
            }
        }
    }

    @Test func callsWithTheToken() async throws {
        let result = try await application.acquireTokenInteractively(scopes: ["api.read"])
        #expect(try await call(SilentParameters(scopes: ["api.read"], account: result.account)) == "a note")
    }

    @Test func renewsATokenThatTheServerDoesNotTake() async throws {
        let result = try await application.acquireTokenInteractively(scopes: ["api.read"])
        let parameters = SilentParameters(scopes: ["api.read"], account: result.account)
        let refused = result.accessToken
        let error = await #expect(throws: RPCError.self) { try await call(parameters, refusing: refused) }
        #expect(error?.code == .unauthenticated)
        #expect(try await call(parameters, refusing: refused) == "a note")
    }

    @Test func saysThatAPersonIsNeeded() async throws {
        let result = try await application.acquireTokenInteractively(scopes: ["api.read"])
        try await application.remove(result.account)
        let parameters = SilentParameters(scopes: ["api.read"], account: result.account)
        let error = await #expect(throws: RPCError.self) { try await call(parameters) }
        #expect(error?.code == .unauthenticated)
        #expect((error?.cause as? AuthenticationError)?.family == .interactionRequired)
    }
}
