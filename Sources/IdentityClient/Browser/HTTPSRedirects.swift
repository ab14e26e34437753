// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Synchronization

/// Whether something came to the redirect port by https, which is not spoken there.
///
/// A browser does that for a host that has once asked for https alone (HSTS, which counts for all ports), or that its own
/// settings want https for. The person then sees an error page, and the program would wait in silence.
final class HTTPSRedirects: Sendable {
    private struct State {
        var isSeen = false
        var report: (@Sendable () -> Void)?
    }

    private let state = Mutex(State())

    var isSeen: Bool { state.withLock(\.isSeen) }

    /// There was one.
    func note() {
        let report = state.withLock { state in
            state.isSeen = true
            return state.report.take()
        }
        report?()
    }

    /// Has the first one told, also where it has already been.
    func report(_ report: @escaping @Sendable () -> Void) {
        let isSeen = state.withLock { state in
            if !state.isSeen { state.report = report }
            return state.isSeen
        }
        if isSeen { report() }
    }

    /// What happened, and the ways out.
    ///
    /// - SeeAlso: [RFC 6797 §8.1.1](https://www.rfc-editor.org/rfc/rfc6797#section-8.1.1): no IP address is a known HSTS host.
    static let explanation = """
        The browser, it seems, came back by https to an address that is http: it keeps to https for that host (HSTS that \
        another program set for localhost, or an HTTPS-only mode). Use http://127.0.0.1 in place of localhost where the \
        provider allows it, or take the host out of that mode.
        """

    /// One more way out of a sign-in that waits for it.
    static let signInExplanation =
        "\(explanation) Or sign in in two steps: then the address that the browser ends at is taken, https or not."
}

extension RedirectListener {
    /// What came to its port by https, where it has one.
    var httpsRedirects: HTTPSRedirects? { (self as? LoopbackRedirectListener)?.visits }
}
