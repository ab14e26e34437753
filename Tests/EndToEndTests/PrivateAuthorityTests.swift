// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Glibc
import IdentityClient
import Testing

extension EndToEnd {
    /// The library's trust in a provider whose certificate comes from a private authority.
    @Suite struct PrivateAuthorityTests {
        @Test(arguments: Provider.Name.allCases)
        func withoutItsAuthorityTheProviderIsNotTrusted(name: Provider.Name) async throws {
            let program = try Program(at: Provider(name, tls: true), with: .form) { $0.transport = CurlTransport() }
            let error = try await program.signInError()
            #expect(error.code == .tlsFailed)
            #expect(try program.person.events.isEmpty, "no browser was opened")
        }

        /// Runs in a separate process, because the environment variable affects the whole process.
        @Test(arguments: Provider.Name.allCases)
        func sslCertFileNamesThePrivateAuthority(name: Provider.Name) async throws {
            await #expect(processExitsWith: .success) { [name = name as Provider.Name] in
                let provider = try Provider(name, tls: true)
                unsafe setenv("SSL_CERT_FILE", try #require(try provider.certificateAuthority), 1)
                let program = try Program(at: provider, with: .form) { $0.transport = CurlTransport() }
                let result = try await program.signIn()
                #expect(result.account.displayName == "Alice Example")
                try await program.person.exitStatus()
            }
        }
    }
}
