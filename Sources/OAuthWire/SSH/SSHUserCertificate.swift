// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

/// The content of a person's certificate of OpenSSH. Its signature is for the server to verify, which knows the authority.
/// - SeeAlso: [PROTOCOL.certkeys](https://github.com/openssh/openssh-portable/blob/master/PROTOCOL.certkeys)
package struct SSHUserCertificate: Hashable, Sendable {
    package static let type = "ssh-rsa-cert-v01@openssh.com"
    /// As in OpenSSH.
    static let maximumPrincipals = 256

    /// The key that is certified.
    package let key: SSHRSAKey
    /// The names under which the key's holder may sign in; at least one.
    package let principals: [String]
    /// The validity in Unix seconds, from the first to before the second. It may last forever.
    package let validAfter: UInt64
    package let validBefore: UInt64

    /// Reads a certificate in base64, as it stands in a line after its type.
    ///
    /// - Throws: An error also for a host's certificate, and for a certificate that names no person.
    package init(base64 text: String) throws(WireError) {
        guard let bytes = SSHBase64.decode(text) else { throw WireError.malformed("certificate") }
        var reader = SSHReader(bytes)
        guard try reader.text("certificate's type") == Self.type else {
            throw WireError.wrongType("certificate's type")
        }
        _ = try reader.string("certificate's nonce")
        key = try SSHRSAKey(reading: &reader)
        _ = try reader.number("certificate's serial number", bytes: 8)
        guard try reader.number("certificate's kind", bytes: 4) == 1 else {
            throw WireError.wrongType("certificate's kind")
        }
        _ = try reader.string("certificate's key id")
        principals = try Self.names(try reader.string("certificate's principals"))
        validAfter = try reader.number("certificate's validity", bytes: 8)
        validBefore = try reader.number("certificate's validity", bytes: 8)
        guard validAfter < validBefore else { throw WireError.wrongType("certificate's validity") }
        for name in ["certificate's options", "certificate's extensions", "certificate's end"] {
            _ = try reader.string(name)
        }
        let authority = try reader.string("certificate's authority")
        let signature = try reader.string("certificate's signature")
        guard !authority.isEmpty, !signature.isEmpty, reader.isAtEnd else {
            throw WireError.malformed("certificate's end")
        }
    }

    private static func names(_ bytes: [UInt8]) throws(WireError) -> [String] {
        var reader = SSHReader(bytes)
        var names: [String] = []
        while !reader.isAtEnd, names.count <= maximumPrincipals {
            names.append(try reader.text("certificate's principals"))
        }
        guard (1...maximumPrincipals).contains(names.count), !names.contains("") else {
            throw WireError.wrongType("certificate's principals")
        }
        return names
    }
}
