// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import LoopbackHTTP

extension RedirectPage {
    static let endedMessage = "The application no longer waits for this sign-in. Please start again from there."

    /// Nothing is loaded, run, framed, stored or told to others.
    static let headers: LoopbackHeaders = [
        "Content-Type": "text/html; charset=utf-8",
        "Cache-Control": "no-store",
        "Referrer-Policy": "no-referrer",
        "X-Content-Type-Options": "nosniff",
        "X-Frame-Options": "DENY",
        "Content-Security-Policy":
            "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    ]

    func response(status: Int, applicationName: String?) -> LoopbackResponse {
        LoopbackResponse(
            status: status,
            headers: Self.headers,
            body: .bytes(Array(html(applicationName: applicationName).utf8)),
            closesConnection: true
        )
    }

    /// The page: fixed text, and the message as text.
    func html(applicationName: String?) -> String {
        let application = Self.escaped(applicationName ?? "the application", limit: 100)
        let (title, text, symbol, name) =
            switch outcome {
            case .succeeded: ("Signed in", "The sign-in is complete.", "&#10003;", "good")
            case .signedOut: ("Signed out", "The sign-out is complete.", "&#10003;", "good")
            case .failed: ("Not signed in", "The sign-in did not succeed.", "!", "bad")
            case .refused: ("Nothing to see here", "This is not the sign-in that is waited for.", "?", "plain")
            }
        let message = message.map { Self.escaped($0, limit: 1000) } ?? text
        let advice =
            switch outcome {
            case .succeeded, .signedOut, .failed: "<p>You can close this tab and return to \(application).</p>"
            case .refused: "<p>If you were signing in, please start again from \(application).</p>"
            }
        return """
            <!DOCTYPE html>
            <html lang="en">
            <head>
            <meta charset="utf-8">
            <meta name="viewport" content="width=device-width, initial-scale=1">
            <meta name="robots" content="noindex">
            <title>\(title)</title>
            <style>\(Self.style)</style>
            </head>
            <body>
            <main>
            <div class="symbol \(name)" aria-hidden="true">\(symbol)</div>
            <h1>\(title)</h1>
            <p>\(message)</p>
            \(advice)
            <p class="note">For your security, do not share this page or its address with anyone.</p>
            </main>
            </body>
            </html>

            """
    }

    /// Text that can stand anywhere in a page. By scalars: `<` and a combining accent are one `Character`, but a
    /// browser sees the `<`.
    private static func escaped(_ text: String, limit: Int) -> String {
        var result = ""
        for scalar in text.unicodeScalars.prefix(limit) {
            switch scalar {
            case "&": result += "&amp;"
            case "<": result += "&lt;"
            case ">": result += "&gt;"
            case "\"": result += "&quot;"
            case "'": result += "&#39;"
            case _ where scalar.properties.generalCategory == .control: result += " "
            default: result.unicodeScalars.append(scalar)
            }
        }
        return text.unicodeScalars.count > limit ? result + "…" : result
    }

    private static let style = """
        :root { color-scheme: light dark; --ground: #f4f5f7; --card: #fff; --ink: #1d1f23; --faint: #5f6570; \
        --good: #1a7f4b; --bad: #b3261e; }
        @media (prefers-color-scheme: dark) { :root { --ground: #16181c; --card: #22252b; --ink: #eceef2; \
        --faint: #a0a7b4; --good: #4cc38a; --bad: #f2857d; } }
        * { box-sizing: border-box; }
        body { margin: 0; min-height: 100vh; display: grid; place-items: center; padding: 1.5rem; \
        background: var(--ground); color: var(--ink); font: 1rem/1.5 system-ui, sans-serif; }
        main { max-width: 28rem; width: 100%; padding: 2.5rem 2rem; border-radius: 1rem; background: var(--card); \
        text-align: center; overflow-wrap: anywhere; box-shadow: 0 1px 3px #0002, 0 8px 24px #0001; }
        h1 { margin: 0 0 .5rem; font-size: 1.4rem; font-weight: 600; }
        p { margin: .5rem 0 0; }
        .note { margin-top: 1.75rem; font-size: .85rem; color: var(--faint); }
        .symbol { width: 3.5rem; height: 3.5rem; margin: 0 auto 1.25rem; border-radius: 50%; \
        font: 600 1.75rem/3.5rem system-ui, sans-serif; color: var(--card); background: var(--faint); }
        .good { background: var(--good); }
        .bad { background: var(--bad); }
        """
}
