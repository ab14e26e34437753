// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import LoopbackHTTP
import OAuthWire

/// The common parts of a receiver's pages: markup, texts and the program's name.
struct RedirectPageTemplate: Sendable {
    var texts = RedirectPage.Texts()
    /// `nil` for "the application".
    var applicationName: String?
    /// Addresses of the program that the browser is sent to in place of a page.
    var addresses: [RedirectPage.Outcome: String] = [:]

    /// The browser loads, runs, frames, stores and reports nothing.
    static let headers: LoopbackHeaders = [
        "Content-Type": "text/html; charset=utf-8",
        "Cache-Control": "no-store",
        "Referrer-Policy": "no-referrer",
        "X-Content-Type-Options": "nosniff",
        "X-Frame-Options": "DENY",
        "Content-Security-Policy": policy(forms: "'none'"),
    ]

    private static func policy(forms: String) -> String {
        "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action \(forms); frame-ancestors 'none'"
    }

    func response(_ page: RedirectPage, status: Int) -> LoopbackResponse {
        LoopbackResponse(
            status: status,
            headers: Self.headers,
            body: .bytes(Array(html(page).utf8)),
            closesConnection: true
        )
    }

    /// The answer for a browser that comes back after the wait has ended.
    func endedResponse() -> LoopbackResponse {
        var template = self
        template.texts.failed.sentence = texts.ended
        return template.response(RedirectPage(outcome: .failed), status: 200)
    }

    func html(_ page: RedirectPage) -> String {
        let (statement, advice, symbol, name) =
            switch page.outcome {
            case .succeeded: (texts.succeeded, texts.advice, "&#10003;", "good")
            case .signedOut: (texts.signedOut, texts.advice, "&#10003;", "good")
            case .failed: (texts.failed, texts.advice, "!", "bad")
            case .refused: (texts.refused, texts.refusedAdvice, "?", "plain")
            }
        let message = page.message.map { Self.cut($0, at: 1000).escapedForHTML }
        let sentence = filled(statement.sentence)
        let paragraphs =
            switch message {
            case nil: "<p>\(sentence)</p>"
            case let message? where texts.isEnglish: "<p>\(message)</p>"
            // The library's messages are English on every page.
            case let message?: "<p>\(sentence)</p>\n<p class=\"detail\" lang=\"en\" dir=\"auto\">\(message)</p>"
            }
        return document(
            language: texts.language,
            title: filled(statement.title, isolatesName: false),
            """
            <div class="symbol \(name)" aria-hidden="true">\(symbol)</div>
            <h1>\(filled(statement.title))</h1>
            \(paragraphs)
            <p>\(filled(advice))</p>
            <p class="note">\(filled(texts.caution))</p>
            """
        )
    }

    /// The page of a question, with a form that sends the answer and `word` to the page's own address.
    func response(_ question: BrowserQuestion, word: String) -> LoopbackResponse {
        let details = question.details.map { detail in
            "<dt>\(Self.plain(detail.label))</dt>\n<dd dir=\"auto\">\(Self.plain(WireText.clean(detail.text)))</dd>\n"
        }
        var response = response(
            to: question,
            """
            <div class="symbol plain" aria-hidden="true">?</div>
            <h1>\(Self.plain(question.title))</h1>
            \(question.sentences.map { "<p>\(Self.plain($0))</p>" }.joined(separator: "\n"))
            \(details.isEmpty ? "" : "<dl>\n\(details.joined())</dl>")
            <form method="post">
            <input type="hidden" name="word" value="\(word)">
            <p><button class="answer" name="answer" value="no">\(Self.plain(question.refusal))</button></p>
            <p><button class="answer agreement" name="answer" value="yes">\(Self.plain(question.agreement))</button></p>
            </form>
            """
        )
        // Without a referrer, a browser names no origin for a form either.
        response.headers["Referrer-Policy"] = "same-origin"
        response.headers["Content-Security-Policy"] = Self.policy(forms: "'self'")
        return response
    }

    /// The answer to the form of a question's page. Chromium applies the page's rule for forms to redirects as well, up to the
    /// last of them; a page that goes on by itself is none.
    func response(afterAgreementTo question: BrowserQuestion, leadingTo target: String) -> LoopbackResponse {
        var response = response(
            to: question,
            """
            <p><a class="answer agreement" href="\(target.escapedForHTML)">\(Self.plain(question.agreement))</a></p>
            """
        )
        response.headers["Refresh"] = "0;url=\(target)"
        return response
    }

    func redirect(to target: String) -> LoopbackResponse {
        var response = LoopbackResponse(status: 302, headers: Self.headers, closesConnection: true)
        response.headers["Location"] = target
        return response
    }

    private func response(to question: BrowserQuestion, _ main: String) -> LoopbackResponse {
        let html = document(language: "en", title: Self.plain(question.title), main)
        return LoopbackResponse(
            status: 200,
            headers: Self.headers,
            body: .bytes(Array(html.utf8)),
            closesConnection: true
        )
    }

    private static func plain(_ text: String) -> String { cut(text, at: 1000).escapedForHTML }

    private func document(language: String, title: String, _ main: String) -> String {
        """
        <!DOCTYPE html>
        <html lang="\(language)">
        <head>
        <meta charset="utf-8">
        <meta name="viewport" content="width=device-width, initial-scale=1">
        <meta name="robots" content="noindex">
        <title>\(title)</title>
        <style>\(Self.style)</style>
        </head>
        <body>
        <main dir="auto">
        \(main)
        </main>
        </body>
        </html>

        """
    }

    /// A text with the program's name filled in; placeholders in the name itself are ignored.
    ///
    /// - Parameter isolatesName: Whether the name keeps its own direction; `<title>` allows no elements.
    private func filled(_ text: String, isolatesName: Bool = true) -> String {
        let name = applicationName.map { name in
            let name = Self.cut(name, at: 100).escapedForHTML
            return isolatesName ? "<bdi>\(name)</bdi>" : name
        }
        return Self.cut(text, at: 1000)
            .split(separator: "{application}", omittingEmptySubsequences: false)
            .map(\.escapedForHTML)
            .joined(separator: name ?? "the application")
    }

    private static func cut(_ text: String, at limit: Int) -> String {
        guard text.unicodeScalars.count > limit else { return text }
        return String(text.unicodeScalars.prefix(limit)) + "…"
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
        .detail { color: var(--faint); }
        .note { margin-top: 1.75rem; font-size: .85rem; color: var(--faint); }
        .symbol { width: 3.5rem; height: 3.5rem; margin: 0 auto 1.25rem; border-radius: 50%; \
        font: 600 1.75rem/3.5rem system-ui, sans-serif; color: var(--card); background: var(--faint); }
        .good { background: var(--good); }
        .bad { background: var(--bad); }
        dl { margin: 1.25rem 0; text-align: start; }
        dt { margin-top: .5rem; font-size: .85rem; color: var(--faint); }
        dd { margin: 0; }
        .answer { display: inline-block; margin-top: .75rem; padding: .5rem 1rem; border-radius: .5rem; color: inherit; \
        border: 1px solid var(--faint); background: none; font: inherit; cursor: pointer; }
        .agreement { background: var(--good); color: var(--card); }
        """
}
