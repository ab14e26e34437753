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
        Date(timeIntervalSince1970: TimeInterval(min(seconds, 253_402_300_799)))
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
