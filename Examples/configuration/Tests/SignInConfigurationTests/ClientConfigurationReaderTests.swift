// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Configuration
import IdentityClient
import IdentityTesting
import SignInConfiguration
import Synchronization
import Testing

@Suite(.timeLimit(.minutes(1))) struct ClientConfigurationReaderTests {
    /// The values that the reader was asked for, as its log shows them.
    final class Log: AccessReporter {
        let lines = Mutex<[String]>([])
        func report(_ event: AccessEvent) { lines.withLock { $0.append("\(event)") } }
    }

    let provider: TestIdentityProvider
    let log = Log()

    init() throws { provider = try TestIdentityProvider() }

    private func reader(_ values: [AbsoluteConfigKey: ConfigValue]) -> ConfigReader {
        ConfigReader(provider: InMemoryProvider(values: values), accessReporter: log).scoped(to: "identity")
    }

    @Test func signsInAsConfigured() async throws {
        let config = reader([
            "identity.client-id": "test-client",
            "identity.issuer": .init(.string(provider.authority.description), isSecret: false),
        ])
        var configuration = try ClientConfiguration(reading: config, cache: InMemoryTokenCache())
        let receiver = InMemoryRedirectReceiver()
        configuration.transport = provider.transport
        configuration.redirectReceiver = receiver
        configuration.browser = ScriptedBrowser(provider: provider, receiver: receiver)
        let result = try await PublicClientApplication(configuration).acquireTokenSilentlyOrInteractively(scopes: [
            "api.read"
        ])
        #expect(provider.accepts(accessToken: result.accessToken))
    }

    @Test func showsTheSecretInNoLog() throws {
        let config = reader([
            "identity.client-id": "c", "identity.issuer": "https://id.example.com", "identity.client-secret": "s3cret",
            "identity.redirect-ports": .init(.intArray([8400, 8404]), isSecret: false),
        ])
        let configuration = try ClientConfiguration(reading: config, cache: InMemoryTokenCache())
        #expect(configuration.clientSecret?.rawValue == "s3cret")
        #expect(configuration.redirectURI == (try .loopback(ports: 8400...8404)))
        let lines = log.lines.withLock { $0 }
        #expect(lines.contains { $0.contains("client-secret") } && !lines.contains { $0.contains("s3cret") })
    }

    @Test func namesAMissingKey() {
        let error = #expect(throws: (any Error).self) {
            try ClientConfiguration(reading: reader(["identity.client-id": "c"]), cache: InMemoryTokenCache())
        }
        #expect(error.map { "\($0)".contains("issuer") } == true)
    }
}
