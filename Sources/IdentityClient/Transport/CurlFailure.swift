// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import CCurl

/// How a transfer failed, in libcurl's words; the cause beneath an `AuthenticationError`.
struct CurlFailure: Error, CustomStringConvertible {
    let code: Int
    let reason: String
    let tunnelStatus: Int
    let isTooLarge: Bool
    /// `false` where no byte of the request went out: there was no connection, or none that was ready in time.
    let wasSent: Bool

    init(code: Int, reason: String, tunnelStatus: Int = 0, isTooLarge: Bool = false, wasSent: Bool = true) {
        self.code = code
        self.reason = Self.plain(reason.hasPrefix(Self.unusableProxy) ? Self.withoutQuotation(reason) : reason)
        self.tunnelStatus = tunnelStatus
        self.isTooLarge = isTooLarge
        self.wasSent = wasSent
    }

    /// A text that comes from elsewhere, and may quote a server: short, and without control characters.
    private static func plain(_ text: String) -> String {
        String(
            decoding: text.utf8.prefix(200).map { $0 >= 0x20 && $0 < 0x7F ? $0 : UInt8(ascii: "?") },
            as: UTF8.self
        )
    }

    var description: String { "libcurl \(code): \(reason)" }

    /// How libcurl begins what it says of a proxy's address that it cannot use. It says so with several codes.
    private static let unusableProxy = "Unsupported proxy"

    /// What stands before the proxy's address, which may have a password in it.
    private static func withoutQuotation(_ reason: String) -> String {
        String(reason.prefix { $0 != "'" })
    }
}

extension CurlFailure {
    /// The error for the caller: what failed at which host, and what to do.
    func error(host: String, settings: CurlSettings) -> AuthenticationError {
        let (code, message) = verdict(host: host, settings: settings)
        return AuthenticationError(code, message, underlyingError: self)
    }

    private func verdict(host: String, settings: CurlSettings) -> (AuthenticationError.Code, String) {
        if isTooLarge {
            return (
                .responseTooLarge,
                "\(host) answered with more than \(settings.maximumResponseBytes) bytes "
                    + "(or \(settings.maximumHeadBytes) bytes of header fields), which is refused."
            )
        }
        if tunnelStatus >= 300 {
            let hint = tunnelStatus == 407 ? " It wants a name and password: put them into its address." : ""
            return (.proxyFailed, "The proxy refused the way to \(host) with status \(tunnelStatus).\(hint)")
        }
        switch code {
        case CCURL_PROXY_NOT_RESOLVED, CCURL_PROXY,
            _ where reason.hasPrefix(Self.unusableProxy):
            return (.proxyFailed, "The proxy on the way to \(host) could not be used. Check \(settings.proxyPlace).")
        case CCURL_CONNECT where blamesAnotherHost(than: host):
            return (.proxyFailed, "The proxy on the way to \(host) does not answer. Check \(settings.proxyPlace).")
        case CCURL_HOST_NOT_RESOLVED:
            return (.nameNotResolved, "The name \(host) could not be resolved. Check the name and the network.")
        case CCURL_CONNECT:
            return (
                .connectionFailed, "No connection to \(host). Check that it runs and that the network lets you there."
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
        case CCURL_PEER_NOT_TRUSTED:
            return (
                .tlsFailed,
                "The certificate of \(host) is not trusted (\(reason)). If a certificate authority of your own signed "
                    + "it, name its file in SSL_CERT_FILE."
            )
        case CCURL_TLS_CONNECT, 53, 54, 58, 59, 64, 66, 80, 82, 83, 90, 91, 98:
            return (.tlsFailed, "No secure connection to \(host) (\(reason)).")
        case 16, CCURL_PARTIAL, CCURL_NOTHING, CCURL_SEND, CCURL_RECEIVE, CCURL_REWIND, CCURL_ABORTED:
            return (.connectionFailed, "The connection to \(host) broke before the answer was complete. Try again.")
        case CCURL_UNSUPPORTED_PROTOCOL, CCURL_WEIRD_ANSWER:
            return (.network, Self.notHTTPMessage(host: host))
        default:
            return (.network, "The request to \(host) failed (\(reason)). Try again.")
        }
    }

    /// libcurl names the host that did not answer; when that is not ours, it is the proxy.
    private func blamesAnotherHost(than host: String) -> Bool {
        reason.hasPrefix("Failed to connect to ") && !reason.lowercased().contains(host)
    }

    static func notHTTP(host: String) -> AuthenticationError {
        AuthenticationError(.network, notHTTPMessage(host: host))
    }

    private static func notHTTPMessage(host: String) -> String {
        "What answered for \(host) does not speak HTTP. Check the port, and whether the network wants a login first."
    }

    /// There is no libcurl that can be used. `reason` is the loader's, where it could not load one.
    static func unavailable(_ readiness: ccurl_readiness, reason: String) -> AuthenticationError {
        switch readiness {
        case CCURL_EXHAUSTED:
            CurlDriver.exhausted()
        case CCURL_UNSUITABLE:
            AuthenticationError(
                .transportUnavailable,
                "The libcurl of this system is too old or speaks no https: 7.66 or later is needed. Update the Debian "
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

    /// This libcurl cannot do what the transport's rules demand.
    static func refusedOption(_ option: Int32, version: UInt32) -> AuthenticationError {
        let parts = "\(version >> 16 & 0xFF).\(version >> 8 & 0xFF).\(version & 0xFF)"
        return AuthenticationError(
            .transportUnavailable,
            "libcurl \(parts) refused option \(option), without which requests are not sent. Update libcurl."
        )
    }
}

extension CurlSettings {
    /// Where the proxy was named.
    fileprivate var proxyPlace: String {
        proxy == nil ? "https_proxy and all_proxy" : "the proxy that the transport was given"
    }
}
