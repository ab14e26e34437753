// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import CCurl
import FoundationEssentials
import OAuthWire

/// A failed transfer, in libcurl's words; the cause of an `AuthenticationError`.
struct CurlFailure: Error, CustomStringConvertible {
    let code: Int
    let reason: String
    let tunnelStatus: Int
    let isTooLarge: Bool
    /// `false` if no byte of the request was sent: there was no connection, or none in time.
    let wasSent: Bool

    init(code: Int, reason: String, tunnelStatus: Int = 0, isTooLarge: Bool = false, wasSent: Bool = true) {
        self.code = code
        self.reason = Self.plain(reason.hasPrefix(Self.unusableProxy) ? Self.withoutQuotation(reason) : reason)
        self.tunnelStatus = tunnelStatus
        self.isTooLarge = isTooLarge
        self.wasSent = wasSent
    }

    /// A foreign text, which may quote a server: shortened, and without control characters.
    private static func plain(_ text: String) -> String {
        String(
            decoding: text.utf8.prefix(200).map { $0.isPrintable ? $0 : UInt8(ascii: "?") },
            as: UTF8.self
        )
    }

    var description: String { "libcurl \(code): \(reason)" }

    /// The beginning of libcurl's message about an unusable proxy address, which comes with several codes.
    private static let unusableProxy = "Unsupported proxy"

    /// The text before the proxy's address, which may contain a password.
    private static func withoutQuotation(_ reason: String) -> String {
        String(reason.prefix { $0 != "'" })
    }
}

extension CurlFailure {
    /// The error for the caller, with host, problem and remedy.
    ///
    /// - Parameter place: The host with its port, if the address names one.
    func error(host: String, place: String, settings: CurlSettings) -> AuthenticationError {
        let (code, message) = codeAndMessage(host: host, place: place, settings: settings)
        return AuthenticationError(code, message, underlyingError: self)
    }

    private func codeAndMessage(
        host: String,
        place: String,
        settings: CurlSettings
    ) -> (AuthenticationError.Code, String) {
        if isTooLarge {
            return (
                .malformedResponse,
                "The answer of \(host) has more than \(settings.maximumResponseBytes) bytes "
                    + "(or \(settings.maximumHeadBytes) bytes of header fields), which is refused."
            )
        }
        if tunnelStatus >= 300 {
            let hint = tunnelStatus == 407 ? " It requires a name and password: put them into its address." : ""
            return (.proxyFailed, "The proxy refused the connection to \(host) with status \(tunnelStatus).\(hint)")
        }
        switch code {
        case CCURL_PROXY_NOT_RESOLVED, CCURL_PROXY,
            _ where reason.hasPrefix(Self.unusableProxy):
            return (.proxyFailed, "The proxy for \(host) could not be used. Check \(settings.proxyPlace).")
        case CCURL_CONNECT where namesAnotherHost(than: host):
            return (.proxyFailed, "The proxy for \(host) does not answer. Check \(settings.proxyPlace).")
        case CCURL_HOST_NOT_RESOLVED:
            return (.nameNotResolved, "The name \(host) could not be resolved. Check the name and the network.")
        case CCURL_CONNECT:
            return (
                .connectionFailed, "No connection to \(place). Check that the server runs, and check the network."
            )
        case CCURL_TIMED_OUT:
            return (.networkTimedOut, "\(host) did not answer within the time allowed. Try again, or allow more time.")
        case CCURL_BAD_AUTHORITIES:
            return (
                .tlsFailed,
                "The certificates to trust could not be read. Check "
                    + (settings.certificateAuthorities ?? "SSL_CERT_FILE, SSL_CERT_DIR or the package ca-certificates")
                    + "."
            )
        case CCURL_PEER_NOT_TRUSTED  // the words of OpenSSL and of GnuTLS
        where ["not yet valid", "expired", "not yet activated"].contains { reason.firstRange(of: $0) != nil }:
            return (
                .tlsFailed,
                "By this computer's clock, \(Date.now.utcText), the certificate of \(host) is not valid (\(reason)). Check the clock "
                    + "first (timedatectl); if it is right, tell who runs the server."
            )
        case CCURL_PEER_NOT_TRUSTED:
            return (
                .tlsFailed,
                "The certificate of \(host) is not trusted (\(reason)). If a certificate authority of your own signed "
                    + "it, name its file in SSL_CERT_FILE (identityctl: by --ca-file, or the profile's line ca-file)."
            )
        case CCURL_TLS_CONNECT where isAnswerWithoutTLS:
            return (
                .tlsFailed,
                "\(place) does not answer in TLS (\(reason)). Check the port, and whether the address begins with http:// there."
            )
        case CCURL_TLS_CONNECT, 53, 54, 58, 59, 64, 66, 80, 82, 83, 90, 91, 98:
            return (
                .tlsFailed,
                "No secure connection to \(place) (\(reason)). Check the port, and whether the server answers in TLS there."
            )
        case 16, CCURL_PARTIAL, CCURL_NOTHING, CCURL_SEND, CCURL_RECEIVE, CCURL_REWIND, CCURL_ABORTED:
            return (.connectionFailed, "The connection to \(host) broke before the answer was complete. Try again.")
        case CCURL_BAD_ENCODING:
            return (
                .malformedResponse,
                "The answer of \(host) is compressed, which was not asked for, and cannot be read (\(reason)). Turn this "
                    + "compression off for the client's requests, at the server or at the proxy before it."
            )
        case CCURL_UNSUPPORTED_PROTOCOL, CCURL_WEIRD_ANSWER:
            return (.network, Self.notHTTPMessage(host: host))
        default:
            return (.network, "The request to \(host) failed (\(reason)). Try again.")
        }
    }

    /// Whether the server spoke no TLS, in the words of OpenSSL's versions and of GnuTLS.
    private var isAnswerWithoutTLS: Bool {
        ["wrong version number", "packet length too long", "unknown protocol", "http request", "unexpected TLS packet"]
            .contains { reason.firstRange(of: $0) != nil }
    }

    /// libcurl names the host that did not answer; another host than ours is the proxy.
    private func namesAnotherHost(than host: String) -> Bool {
        reason.hasPrefix("Failed to connect to ") && !reason.lowercased().contains(host)
    }

    static func notHTTP(host: String) -> AuthenticationError {
        AuthenticationError(.network, notHTTPMessage(host: host))
    }

    private static func notHTTPMessage(host: String) -> String {
        "The answer of \(host) is not HTTP. Check the port, whether the address begins with https:// there, and whether the network requires a "
            + "login first."
    }

    /// No usable libcurl is available. `reason` is the loader's, if it could not load the library.
    static func unavailable(_ readiness: ccurl_readiness, reason: String) -> AuthenticationError {
        switch readiness {
        case CCURL_EXHAUSTED:
            CurlDriver.exhausted()
        case CCURL_UNSUITABLE:
            AuthenticationError(
                .transportUnavailable,
                "The libcurl of this system is too old or lacks https: 7.66 or later is needed. Update the Debian "
                    + "package libcurl4."
            )
        default:
            AuthenticationError(
                .transportUnavailable,
                "libcurl could not be loaded (\(plain(reason))). Install the Debian package libcurl4 (Fedora: libcurl, "
                    + "Alpine: libcurl), anew where it is installed."
            )
        }
    }

    /// This libcurl lacks a feature that the transport's rules require.
    static func refusedOption(_ option: Int32, version: UInt32) -> AuthenticationError {
        let parts = "\(version >> 16 & 0xFF).\(version >> 8 & 0xFF).\(version & 0xFF)"
        return AuthenticationError(
            .transportUnavailable,
            "libcurl \(parts) refused option \(option), without which requests are not sent. Update libcurl."
        )
    }
}

extension CurlSettings {
    /// The place where the proxy was named.
    fileprivate var proxyPlace: String {
        proxy == nil
            ? "https_proxy and all_proxy, and no_proxy, which takes names such as .example.com without * and port"
            : "its address, \(WireText.quoted(proxy?.place ?? ""))"
    }
}
