// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Foundation
import HTTPTypes
import IdentityClient
import IdentityTestSupport
import Testing

@Suite(.enabled(if: CertificateAuthority.isAvailable, "needs the openssl command"), .timeLimit(.minutes(1)))
struct CurlTLSTests {
    private func page(_ port: UInt16) -> HTTPRequest {
        HTTPRequest(method: .get, scheme: "https", authority: "localhost:\(port)", path: "/")
    }

    /// Both variants of Debian's libcurl, OpenSSL and GnuTLS, if they are installed.
    private static let libraries: [String] = ["libcurl.so.4", "libcurl-gnutls.so.4"].filter { name in
        unsafe dlopen(name, RTLD_LAZY) != nil
    }

    @Test(arguments: libraries)
    func eitherFlavourOfTheLibraryWillDo(name: String) async throws {
        let authority = try await CertificateAuthority.make()
        let (server, port) = try await authority.server(for: "localhost")
        defer { server.terminate() }

        let trusting = CurlTransport.withLibraries(name, name, certificateAuthorities: authority.certificate)
        let (response, _) = try await trusting.send(page(port), body: nil)
        #expect(response.status == .ok)
        #expect(try await CurlTransport.withLibraries(name, name).failure(page(port))?.code == .tlsFailed)
    }

    @Test func onlyACertificateOfATrustedAuthorityIsAccepted() async throws {
        let authority = try await CertificateAuthority.make()
        let (server, port) = try await authority.server(for: "localhost")
        defer { server.terminate() }

        let (response, body) = try await CurlTransport(certificateAuthorities: authority.certificate)
            .send(page(port), body: nil)
        #expect(response.status == .ok)
        #expect(!body.isEmpty)

        let error = try await CurlTransport().failure(page(port))
        #expect(error?.code == .tlsFailed)
        #expect(error?.message.contains("SSL_CERT_FILE") == true)
    }

    @Test func aCertificateForAnotherHostIsRefused() async throws {
        let authority = try await CertificateAuthority.make()
        let (server, port) = try await authority.server(for: "other.example")
        defer { server.terminate() }

        let error = try await CurlTransport(certificateAuthorities: authority.certificate).failure(page(port))
        #expect(error?.code == .tlsFailed)
    }

    /// The TLS library's cleanup at exit would free objects that the thread still uses.
    @Test(arguments: libraries)
    func aProgramMayEndInTheMiddleOfRequests(name: String) async throws {
        let authority = try await CertificateAuthority.make()
        let (server, port) = try await authority.server(for: "localhost")
        defer { server.terminate() }

        for _ in 0..<10 {
            await #expect(processExitsWith: .success) {
                [port = port as UInt16, path = authority.certificate as String, name = name as String] in
                let request = HTTPRequest(method: .get, scheme: "https", authority: "localhost:\(port)", path: "/")
                await withTaskGroup { group in
                    for _ in 0..<16 {
                        group.addTask {
                            // Each request has its own handshake. Failures do not matter here.
                            let transport = CurlTransport.withLibraries(name, name, certificateAuthorities: path)
                            _ = try? await transport.send(request, body: nil)
                        }
                    }
                    await group.next()
                    exit(EXIT_SUCCESS)
                }
            }
        }
    }

    @Test func theFilesOfTheEnvironmentAreTrusted() async throws {
        let authority = try await CertificateAuthority.make()
        let (server, port) = try await authority.server(for: "localhost")
        defer { server.terminate() }

        await #expect(processExitsWith: .success) { [port = port as UInt16, path = authority.certificate as String] in
            unsafe setenv("SSL_CERT_FILE", path, 1)
            let request = HTTPRequest(method: .get, scheme: "https", authority: "localhost:\(port)", path: "/")
            let (response, _) = try await CurlTransport().send(request, body: nil)
            #expect(response.status == .ok)
            // The parameter replaces the environment.
            let other = CurlTransport(certificateAuthorities: "/etc/ssl/certs/ca-certificates.crt")
            #expect(try await other.failure(request)?.code == .tlsFailed)
        }
    }

    @Test func theDirectoryOfTheEnvironmentIsTrusted() async throws {
        let authority = try await CertificateAuthority.make()
        let (server, port) = try await authority.server(for: "localhost")
        defer { server.terminate() }

        await #expect(processExitsWith: .success) {
            [port = port as UInt16, path = authority.directory.path as String] in
            unsafe setenv("SSL_CERT_DIR", path, 1)
            let request = HTTPRequest(method: .get, scheme: "https", authority: "localhost:\(port)", path: "/")
            let (response, _) = try await CurlTransport().send(request, body: nil)
            #expect(response.status == .ok)
        }
    }

    @Test func anOldProtocolIsRefused() async throws {
        let authority = try await CertificateAuthority.make()
        let (server, port) = try await authority.server(for: "localhost", "-tls1_1", "-cipher", "ALL:@SECLEVEL=0")
        defer { server.terminate() }

        let error = try await CurlTransport(certificateAuthorities: authority.certificate).failure(page(port))
        #expect(error?.code == .tlsFailed)
    }

    @Test func authoritiesThatCannotBeReadAreSaid() async throws {
        let authority = try await CertificateAuthority.make()
        let (server, port) = try await authority.server(for: "localhost")
        defer { server.terminate() }

        let error = try await CurlTransport(certificateAuthorities: "/nowhere/ca.pem").failure(page(port))
        #expect(error?.code == .tlsFailed)
        #expect(error?.message.contains("/nowhere/ca.pem") == true)
    }

    @Test func aStalledHandshakeEndsWithTheTimeForConnecting() async throws {
        let server = try ScriptedServer { _ in [.stall] }
        defer { server.close() }
        let error = try await CurlTransport(connectTimeout: .milliseconds(100)).failure(page(server.port))
        #expect(error?.code == .networkTimedOut)
    }
}
