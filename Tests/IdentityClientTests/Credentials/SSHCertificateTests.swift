// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import IdentityTestSupport
import IdentityTesting
import OAuthWire
import Testing

@testable import IdentityClient

/// The content of certificates.
@Suite struct SSHCertificateTests {
    @Test func readsACertificateOfOpenSSH() throws {
        let certificate = try #require(SSHCertificate(base64: SSHExample.certificate))
        #expect(try certificate.publicKey == SSHPublicKey(SSHExample.first))
        #expect(certificate.principals == ["alice@example.com", "alice"])
        #expect(certificate.validAfter == Date(timeIntervalSince1970: 1_767_225_600))
        #expect(certificate.validBefore == Date(timeIntervalSince1970: 1_767_229_200))
        #expect(certificate.line == "ssh-rsa-cert-v01@openssh.com " + SSHExample.certificate)
    }

    @Test func refusesACertificateThatIsCutOffOrLonger() throws {
        let bytes = try #require(SSHBase64.decode(SSHExample.certificate))
        for length in 0..<bytes.count {
            #expect(SSHCertificate(base64: SSHBase64.encode(Array(bytes.prefix(length)))) == nil)
        }
        #expect(SSHCertificate(base64: SSHBase64.encode(bytes + [0])) == nil)
    }

    @Test(arguments: [
        "", "ssh-rsa-cert-v01@openssh.com " + SSHExample.certificate, SSHExample.certificate + "=",
        SSHExample.certificate + "\n", SSHExample.certificate.replacing("/", with: "_"), SSHExample.blob,
    ])
    func refusesOtherTexts(text: String) { #expect(SSHCertificate(base64: text) == nil) }

    static func draft(_ change: (inout SSHCertificateDraft) -> Void = { _ in }) throws -> SSHCertificateDraft {
        let key = try SSHPublicKey(SSHExample.first).key
        var draft = SSHCertificateDraft(key: key, principals: ["alice"], validAfter: 1, validBefore: .max)
        change(&draft)
        return draft
    }

    private static let changes: [@Sendable (inout SSHCertificateDraft) -> Void] = [
        { $0.kind = 2 }, { $0.kind = 0 }, { $0.kind = 1 << 32 - 1 }, { $0.type = "ssh-ed25519-cert-v01@openssh.com" },
        { $0.principals = [] }, { $0.principals = ["alice", ""] }, { $0.principals = ["alice\n"] },
        { $0.principals = ["\u{1B}[2Jalice"] }, { $0.principals = Array(repeating: "a", count: 257) },
        { $0.validBefore = 1 }, { ($0.validAfter, $0.validBefore) = (2, 1) },
    ]

    @Test(arguments: changes.indices) func refusesWhatNoServerTakesOfAPerson(index: Int) throws {
        #expect(SSHCertificate(base64: try Self.draft().signed()) != nil)
        #expect(SSHCertificate(base64: try Self.draft(Self.changes[index]).signed()) == nil)
    }

    @Test func takesOneThatLastsForever() throws {
        let certificate = try #require(SSHCertificate(base64: try Self.draft().signed()))
        #expect(certificate.validBefore == Date(timeIntervalSince1970: 253_402_300_799))
    }

    /// Unlike the client's own key, of which there is one, a person may have a key for each group of machines.
    @Test func keepsOneForEachKey() throws {
        let bindings = try [SSHExample.first, SSHExample.second].map {
            let key = try SSHPublicKey($0)
            return TokenBinding(scheme: .sshCertificate(for: key), keyID: key.key.thumbprint)
        }
        var credentials = Fixture.credentials()
        for (secret, binding) in [("one", bindings[0]), ("two", bindings[1]), ("again", bindings[0])] {
            let json = try Fixture.json(#"{"access_token":"\#(secret)","token_type":"ssh-cert","expires_in":3600}"#)
            var grant = TokenGrant(
                response: try TokenResponse(json),
                requestedScopes: ["linux"],
                identity: AccountIdentity(accountID: Account.ID(rawValue: "a"), homeAccountID: "a"),
                realm: "tenant",
                rule: Fixture.bearerRule,
                binding: binding
            )
            grant.certificateEnd = Fixture.now + 900
            credentials = credentials.applying(grant, at: Fixture.now)
        }
        #expect(Set(credentials.accessTokens.map(\.secret)) == ["again", "two"])
        #expect(credentials.accessTokens.allSatisfy { $0.expiresOn == Fixture.now + 900 })
        let again = try AccountCredentials(decoding: credentials.encoded()) { _ in Fixture.bearerRule }
        #expect(again.accessTokens.count == 2)
        for (binding, secret) in zip(bindings, ["again", "two"]) {
            let request = CredentialRequest(scopes: ["linux"], binding: binding)
            #expect(again.unexpiredToken(for: request, at: Fixture.now)?.secret == secret)
        }
        let pop = TokenBinding(scheme: .pop, keyID: bindings[0].keyID)
        for binding in [pop, nil] {
            let request = CredentialRequest(scopes: ["linux"], binding: binding)
            #expect(again.unexpiredToken(for: request, at: Fixture.now) == nil)
        }
        #expect(Set(bindings.map(\.name)).count == 2)
    }
}
