// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

public import FoundationEssentials
import OAuthWire

/// A person's SSH certificate, which `ssh` shows to a server together with the private key.
///
/// ```swift
/// if let certificate = result.sshCertificate { print(certificate.line) }  // into ~/.ssh/azure-cert.pub
/// ```
public struct SSHCertificate: Hashable, Sendable {
    private let content: SSHUserCertificate
    /// The certificate as a line of OpenSSH: the content of a file, but for the end of the line.
    public let line: String

    /// - Returns: `nil` for a text that is no such certificate.
    init?(base64 text: String) {
        guard let content = try? SSHUserCertificate(base64: text) else { return nil }  // checked when it arrived
        self.content = content
        line = "\(SSHUserCertificate.type) \(text)"
    }

    /// The key that is certified.
    public var publicKey: SSHPublicKey { SSHPublicKey(content.key) }

    /// The names under which the person may sign in at a server. At Azure's machines the first of them, in lower case, is
    /// the user's name.
    public var principals: [String] { content.principals }

    /// The time from which on the certificate is valid.
    public var validAfter: Date { Self.date(content.validAfter) }

    /// The time at which the certificate ends. It may be far away.
    public var validBefore: Date { Self.date(content.validBefore) }

    private static func date(_ seconds: UInt64) -> Date {
        Date(timeIntervalSince1970: TimeInterval(UnixSeconds.nearest(to: seconds)))
    }
}

extension AuthenticationResult {
    /// The SSH certificate; `nil` for a token of another scheme.
    ///
    /// It is valid until ``expiresOn``, or longer. It is no secret, but of no use without the private key.
    public var sshCertificate: SSHCertificate? {
        tokenType == AuthenticationScheme.sshCertificateType ? SSHCertificate(base64: accessToken) : nil
    }
}

extension Authority {
    /// The scope for SSH certificates that Azure's machines with Linux accept; `nil` if the provider or its cloud has none
    /// that is known.
    ///
    /// Microsoft issues them to few clients, of which Azure CLI is one.
    public var sshCertificateScope: Scope? {
        guard case .entra(let address, _) = kind else { return nil }
        let host =
            switch CloudInstances.canonical(address.host) {
            case "login.partner.microsoftonline.cn": "pas.chinacloudapi.cn"
            case "login.microsoftonline.us": "pasff.usgovcloudapi.net"
            case "login.microsoftonline.com": "pas.windows.net"
            // A test's provider is at no host that is known.
            case let other: CloudInstances.isKnown(other) ? "" : "pas.windows.net"
            }
        return host.isEmpty ? nil : Scope(rawValue: "https://\(host)/CheckMyAccess/Linux/.default")
    }
}

/// A person's public key for SSH, for ``AuthenticationScheme/sshCertificate(for:)``.
///
/// ```swift
/// let key = try SSHPublicKey(String(contentsOfFile: "/home/alice/.ssh/azure.pub", encoding: .utf8))
/// ```
public struct SSHPublicKey: Hashable, Sendable, CustomStringConvertible {
    let key: SSHRSAKey

    init(_ key: SSHRSAKey) { self.key = key }

    /// Reads the content of a public key's file: one line of OpenSSH, such as `ssh-rsa AAAA… alice@laptop`.
    ///
    /// Entra ID certifies RSA keys only. Empty lines and lines that begin with `#` are left out.
    ///
    /// - Parameter text: The content, at most 16 KiB.
    /// - Throws: `AuthenticationError.Code.invalidArgument` for anything else: another kind of key, a private key, a
    ///   certificate, several keys, a key with fewer than 2,048 or more than 16,384 bits, or a damaged key.
    public init(_ text: String) throws {
        guard text.utf8.count <= 16_384 else { throw Self.refusal("The text is longer than 16 KiB.") }
        guard !text.contains("-----BEGIN") else {
            throw Self.refusal("This may be a private key. Give the public key, whose file's name ends in .pub.")
        }
        guard !text.utf8.contains(where: { $0 < 0x20 && !"\t\n\r".utf8.contains($0) }) else {
            throw Self.refusal("The text has control characters.")
        }
        let lines = text.utf8.split { "\n\r".utf8.contains($0) }
            .map { line in line.split { " \t".utf8.contains($0) }.map { String(Substring($0)) } }
            .filter { words in words.first.map { $0.utf8.first != UInt8(ascii: "#") } ?? false }
        guard let words = lines.first, lines.count == 1 else {
            throw Self.refusal(lines.isEmpty ? "The text has no key." : "The text has several keys. Give one.")
        }
        guard WireText.areSame(words[0], SSHRSAKey.type), words.count > 1 else {
            let isCertificate = words[0].contains("-cert-v01@")
            throw Self.refusal(
                isCertificate
                    ? "This is a certificate. Give the public key that it was made from."
                    : "This is no public RSA key, and Entra ID certifies no other. Make one: ssh-keygen -t rsa -b 3072"
            )
        }
        guard let blob = SSHBase64.decode(words[1]), let key = try? SSHRSAKey(blob: blob) else {  // one advice for all
            throw Self.refusal(
                "The public key is damaged, or has fewer than 2048 bits. Make another: ssh-keygen -t rsa -b 3072"
            )
        }
        self.key = key
    }

    /// The key as a line of OpenSSH, without a comment.
    public var description: String { "\(SSHRSAKey.type) \(SSHBase64.encode(key.blob))" }

    private static func refusal(_ message: String) -> AuthenticationError {
        AuthenticationError(.invalidArgument, message)
    }
}
