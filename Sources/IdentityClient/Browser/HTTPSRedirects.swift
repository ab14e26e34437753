// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Synchronization

/// Records https requests to the redirect port, which does not support https.
///
/// A browser sends them if the host once required https (HSTS, which covers all ports), or if its settings enforce
/// https. The person then sees an error page, and the program would wait in silence.
final class HTTPSRedirects: Sendable {
    private struct State {
        var isSeen = false
        var report: (@Sendable () -> Void)?
    }

    private let state = Mutex(State())

    var isSeen: Bool { state.withLock(\.isSeen) }

    /// Records an https request.
    func note() {
        let report = state.withLock { state in
            state.isSeen = true
            return state.report.take()
        }
        report?()
    }

    /// Calls `report` at the first https request, also if it has already come.
    func report(_ report: @escaping @Sendable () -> Void) {
        let isSeen = state.withLock { state in
            if !state.isSeen { state.report = report }
            return state.isSeen
        }
        if isSeen { report() }
    }

    /// The problem, and the remedies.
    ///
    /// - SeeAlso: [RFC 6797 §8.1.1](https://www.rfc-editor.org/rfc/rfc6797#section-8.1.1): no IP address is a known HSTS host.
    static let explanation = """
        The browser, it seems, came back by https to an address that is http: it keeps to https for that host (HSTS that \
        another program set for localhost, or an HTTPS-only mode). Use http://127.0.0.1 in place of localhost where the \
        provider allows it, or take the host out of that mode.
        """

    /// The same, with another remedy for a sign-in.
    static let signInExplanation =
        "\(explanation) Or sign in in two steps: then the browser's final address is accepted, https or not."
}

extension RedirectListener {
    /// The https requests to the listener's port, if it has one.
    var httpsRedirects: HTTPSRedirects? { (self as? LoopbackRedirectListener)?.visits }
}
