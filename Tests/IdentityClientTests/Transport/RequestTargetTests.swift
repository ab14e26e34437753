// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import Testing

@testable import IdentityClient

@Suite struct RequestTargetTests {
    /// libcurl takes white space for a part of the address.
    @Test(
        arguments: [
            (["https_proxy": "http://p:1 "], "http://p:1"), (["HTTPS_PROXY": "\t http://p:1\n"], "http://p:1"),
            (["all_proxy": " http://p:1", "ALL_PROXY": "http://q:1"], "http://p:1"),
            (["https_proxy": "http://p:1", "all_proxy": "http://q:1 "], nil), (["https_proxy": " "], ""), ([:], nil),
        ] as [([String: String], String?)]
    )
    func trimsTheEnvironmentsProxy(variables: [String: String], expected: String?) {
        #expect(CurlSettings.trimmedProxy { variables[$0] } == expected)
    }

    @Test(arguments: [
        ("https", "login.example", "/a?b=c", "https://login.example/a?b=c", false),
        ("HTTPS", "Login.Example:8443", "/", "https://Login.Example:8443/", false),
        ("https", "login.example", "", "https://login.example/", false),
        ("https", "[2001:db8::1]:443", "/", "https://[2001:db8::1]:443/", false),
        ("https", "localhost", "/", "https://localhost/", true),
        ("http", "LOCALHOST:80", "/", "http://LOCALHOST:80/", true),
        ("http", "127.255.0.3:1", "/", "http://127.255.0.3:1/", true),
        ("http", "[::1]:65535", "/", "http://[::1]:65535/", true),
    ])
    func acceptsSecureAddressesAndThisComputer(
        scheme: String,
        authority: String,
        path: String,
        url: String,
        isLoopback: Bool
    ) throws {
        let request = HTTPRequest(method: .get, scheme: scheme, authority: authority, path: path)
        let target = try RequestTarget(request)
        #expect(target.url == url)
        #expect(target.isLoopback == isLoopback)
    }

    @Test(arguments: [
        ("http", "login.example", "/"),
        ("http", "localhost.example", "/"),
        ("http", "127.1", "/"),
        ("http", "127.0.0.01", "/"),
        ("http", "127.0.0.256", "/"),
        ("http", "127.0.0.1.example", "/"),
        ("http", "0x7f.0.0.1", "/"),
        ("http", "::1", "/"),
        ("http", "[::2]", "/"),
        ("http", "[::1", "/"),
        ("http", "localhost@login.example", "/"),
        ("https", "user:password@login.example", "/"),
        ("https", "login.example:0", "/"),
        ("https", "login.example:65536", "/"),
        ("https", "login.example:+443", "/"),
        ("https", "login.example:", "/"),
        ("https", "login.example:443:443", "/"),
        ("https", "login.example\\@other.example", "/"),
        ("https", "login%2eexample", "/"),
        ("https", "exämple.de", "/"),
        ("https", "", "/"),
        ("https", "[fe80::1%25eth0]", "/"),
        ("https", "login.example", "no-slash"),
        ("https", "login.example", "@other.example/"),
        ("https", "login.example", "/a#b"),
        ("https", "login.example", "/a b"),
        ("https", "login.example", "/ä"),
        ("file", "localhost", "/etc/passwd"),
        ("ftp", "localhost", "/"),
        ("ftp", "login.example", "/"),
        ("gopher", "127.0.0.1:70", "/"),
    ])
    func refusesEverythingElseBeforeItIsSent(scheme: String, authority: String, path: String) async throws {
        let request = HTTPRequest(method: .get, scheme: scheme, authority: authority, path: path)
        let error = try await CurlTransport().failure(request)
        #expect(error?.code == .invalidArgument)
    }

    @Test func refusesARequestWithoutAnAddress() async throws {
        let request = HTTPRequest(method: .get, scheme: nil, authority: nil, path: "/")
        #expect(try await CurlTransport().failure(request)?.code == .invalidArgument)
    }

    @Test(arguments: [
        (Duration.zero, 1), (.seconds(-5), 1), (.microseconds(1), 1), (.milliseconds(1500), 1500),
        (.seconds(30), 30_000), (.seconds(Int64.max), 1_000_000_000),
    ])
    func timesAreNeverEndless(duration: Duration, milliseconds: Int) {
        #expect(duration.curlMilliseconds == milliseconds)
    }
}
