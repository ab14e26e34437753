// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import IdentityTestSupport
import OAuthWire
import Testing

@testable import IdentityClient

/// Public keys' files.
@Suite struct SSHPublicKeyTests {
    @Test(arguments: [
        SSHExample.first, SSHExample.first + "\n", SSHExample.first + " alice@laptop, the ä\r\n",
        "# mine\n\n\t\(SSHExample.first.replacing(" ", with: " \t "))\tcomment ssh-rsa\n\n",
    ])
    func readsTheOneKeyOfAFile(text: String) throws {
        let key = try SSHPublicKey(text)
        #expect(key.description == SSHExample.first)
        let (same, other) = (try SSHPublicKey(SSHExample.first), try SSHPublicKey(SSHExample.second))
        #expect(key == same && key != other)
    }

    /// As Entra ID takes it. The name is the same on each computer and in each run.
    @Test func namesTheKeyByItsThumbprint() throws {
        let key = try SSHPublicKey(SSHExample.first).key
        #expect(key.thumbprint == SSHExample.thumbprint)
        let items = TokenRequestMessage.sshCertificate(for: key)
        #expect(items.map(\.0) == ["token_type", "req_cnf"] && items[0].1 == "ssh-cert")
        let json = try JSONObject(parsing: Array(items[1].1.utf8))
        #expect(Set(json.members.map(\.name)) == ["kty", "n", "e", "kid"])
        #expect(json.string("kid") == SSHExample.thumbprint && json.string("e") == "AQAB")
        #expect(JSONWebKey(json) != nil)
    }

    private static func blob(_ exponent: [UInt8], _ modulus: [UInt8], type: String = "ssh-rsa", end: [UInt8] = [])
        -> String
    {
        var writer = SSHWriter()
        writer.string(type.utf8)
        writer.string(exponent)
        writer.string(modulus)
        return "ssh-rsa " + SSHBase64.encode(writer.bytes + end)
    }

    private static let modulus: [UInt8] = [0, 0x80] + Array(repeating: 0, count: 254) + [1]

    @Test func takesTheSmallestKey() throws {
        #expect(try SSHPublicKey(Self.blob([3], Self.modulus)).key.modulus.count == 256)
    }

    @Test(arguments: [
        "", "\n# nothing\n", "ssh-rsa", SSHExample.blob, SSHExample.first + "\n" + SSHExample.second,
        "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIPcXJ3sxw+WGl7QsFyqomNR7gPjQhlNr1TOUE6Kn15ls",
        "-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNzaC1rZXktdjEA\n-----END OPENSSH PRIVATE KEY-----\n",
        "ssh-rsa-cert-v01@openssh.com " + SSHExample.certificate, "ssh-rsa " + SSHExample.certificate,
        "no-pty " + SSHExample.first, "SSH-RSA " + SSHExample.blob, SSHExample.first + "\u{0}",
        SSHExample.first + " \u{1B}[2J", SSHExample.first + String(repeating: " ", count: 16_384),
        SSHExample.first.replacing("/", with: "_"), SSHExample.first + "=", String(SSHExample.first.dropLast()),
        String(SSHExample.first.dropLast(4)), SSHExample.first.replacing("AQAB", with: "AQAC"),
        blob([3], [0, 0x80] + Array(repeating: 0, count: 253) + [1]),  // 2,040 bits
        blob([3], [0x7F] + Array(repeating: 0xFF, count: 255)),  // 2,047 bits
        blob([3], [1] + Array(repeating: 0, count: 2047) + [1]),  // 16,385 bits
        blob([3], Array(modulus.dropFirst())), blob([3], [0] + modulus), blob([3], modulus.dropLast() + [2]),
        blob([0, 3], modulus), blob([0x83], modulus), blob([1], modulus), blob([2], modulus), blob([], modulus),
        blob([0], modulus), blob(Array(repeating: 1, count: 9), modulus), blob([3], []),
        blob([3], modulus, type: "ssh-dss"), blob([3], modulus, end: [0]),
    ])
    func refusesAnythingElse(text: String) async throws {
        let error = try await expectError(.invalidArgument) { try SSHPublicKey(text) }
        #expect(!error.message.contains(SSHExample.blob.prefix(40)))
    }

    @Test func refusesAKeyThatIsCutOffAnywhere() throws {
        let bytes = try #require(SSHBase64.decode(SSHExample.blob))
        for length in 0..<bytes.count {
            #expect(throws: WireError.self) { try SSHRSAKey(blob: Array(bytes.prefix(length))) }
        }
        #expect(try SSHRSAKey(blob: bytes).blob == bytes)
    }

    @Test(arguments: [
        ("https://login.microsoftonline.com/t", "https://pas.windows.net/CheckMyAccess/Linux/.default"),
        ("https://login.windows.net/t", "https://pas.windows.net/CheckMyAccess/Linux/.default"),
        ("https://login.chinacloudapi.cn/t", "https://pas.chinacloudapi.cn/CheckMyAccess/Linux/.default"),
        ("https://login.microsoftonline.us/t", "https://pasff.usgovcloudapi.net/CheckMyAccess/Linux/.default"),
        ("https://login.microsoftonline.de/t", nil), ("https://contoso.b2clogin.com/t/p", nil),
        ("https://contoso.ciamlogin.com", nil), ("https://fs.example.com/adfs", nil),
    ])
    func knowsTheScopeOfEachCloud(authority: String, scope: String?) throws {
        #expect(try Authority(url: authority).sshCertificateScope?.rawValue == scope)
        #expect(try Authority.openIDConnect(issuer: "https://id.example.com").sshCertificateScope == nil)
    }
}
