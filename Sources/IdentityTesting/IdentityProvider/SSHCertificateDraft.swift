// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Crypto
package import OAuthWire

/// An SSH certificate before it is signed. A test can change any part of it.
/// - SeeAlso: [PROTOCOL.certkeys](https://github.com/openssh/openssh-portable/blob/master/PROTOCOL.certkeys)
package struct SSHCertificateDraft: Sendable {
    package var type = SSHUserCertificate.type
    package var key: SSHRSAKey
    package var serialNumber: UInt64 = 0
    /// 1 for a person, 2 for a host.
    package var kind: UInt64 = 1
    package var principals: [String]
    /// In Unix seconds.
    package var validAfter: UInt64
    package var validBefore: UInt64

    /// The key of the process's authority.
    private static let authority = Curve25519.Signing.PrivateKey()

    package init(key: SSHRSAKey, principals: [String], validAfter: UInt64, validBefore: UInt64) {
        self.key = key
        self.principals = principals
        self.validAfter = validAfter
        self.validBefore = validBefore
    }

    /// The authority's public key as a line of OpenSSH.
    static var authorityLine: String { "ssh-ed25519 \(SSHBase64.encode(authorityBlob))" }

    private static var authorityBlob: [UInt8] {
        strings([Array("ssh-ed25519".utf8), Array(authority.publicKey.rawRepresentation)])
    }

    /// The signed certificate in base64.
    package func signed() throws -> String {
        var writer = SSHWriter()
        writer.string(type.utf8)
        writer.string(SecureRandom.token().utf8)
        writer.positiveInteger(key.exponent)
        writer.positiveInteger(key.modulus)
        writer.number(serialNumber, bytes: 8)
        writer.number(kind, bytes: 4)
        writer.string("certificate \(serialNumber)".utf8)
        writer.string(Self.strings(principals.map { Array($0.utf8) }))
        writer.number(validAfter, bytes: 8)
        writer.number(validBefore, bytes: 8)
        writer.string([])
        writer.string(Self.strings(["permit-port-forwarding", "permit-pty"].flatMap { [Array($0.utf8), []] }))
        writer.string([])
        writer.string(Self.authorityBlob)
        let signature = Array(try Self.authority.signature(for: writer.bytes))
        writer.string(Self.strings([Array("ssh-ed25519".utf8), signature]))
        return SSHBase64.encode(writer.bytes)
    }

    private static func strings(_ parts: [[UInt8]]) -> [UInt8] {
        var writer = SSHWriter()
        for part in parts { writer.string(part) }
        return writer.bytes
    }
}

extension TestIdentityProvider {
    /// The public key, as a line of OpenSSH, of the authority that signs SSH certificates: for a test's `sshd`
    /// (`TrustedUserCAKeys`). All providers of a process have the same key, made anew in each process.
    public var sshCertificateAuthority: String { SSHCertificateDraft.authorityLine }
}
