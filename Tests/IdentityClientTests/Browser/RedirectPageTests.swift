// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import LoopbackHTTP
import Testing

@testable import IdentityClient

@Suite struct RedirectPageTests {
    private func html(
        _ outcome: RedirectPage.Outcome,
        _ message: String? = nil,
        _ texts: RedirectPage.Texts = RedirectPage.Texts(),
        applicationName: String? = nil
    ) -> String {
        RedirectPageTemplate(texts: texts, applicationName: applicationName)
            .html(RedirectPage(outcome: outcome, message: message))
    }

    @Test func escapesWhateverTheMessageIs() {
        let message = "<script>alert(1)</script><\u{301}img src=\"x\" onerror='y'>&amp;\u{0}"
        let html = html(.failed, message, applicationName: "<b>App</b>")
        #expect(
            html.contains(
                "&lt;script&gt;alert(1)&lt;/script&gt;&lt;\u{301}img src=&quot;x&quot; onerror=&#39;y&#39;&gt;&amp;amp;"
            )
        )
        #expect(html.contains("return to <bdi>&lt;b&gt;App&lt;/b&gt;</bdi>."))
        #expect(!html.unicodeScalars.contains("\u{0}"))
        #expect(html.components(of: "<script") == 0 && html.components(of: "<b>") == 0)
    }

    @Test func cutsALongMessage() {
        let html = html(.failed, String(repeating: "x\u{301}", count: 5000))
        #expect(html.unicodeScalars.count { $0 == "\u{301}" } == 500)
    }

    @Test(arguments: [
        (RedirectPage.Outcome.succeeded, "Signed in", "The sign-in is complete."),
        (.signedOut, "Signed out", "The sign-out is complete."),
        (.failed, "Not signed in", "The sign-in did not succeed."),
        (.refused, "Nothing to see here", "The application does not wait for this sign-in."),
    ])
    func isAPlainPageInEnglish(_ outcome: RedirectPage.Outcome, _ title: String, _ sentence: String) {
        let html = html(outcome)
        #expect(html.hasPrefix("<!DOCTYPE html>\n<html lang=\"en\">"))
        #expect(html.contains("<title>\(title)</title>") && html.contains("<h1>\(title)</h1>\n<p>\(sentence)</p>\n<p>"))
        #expect(html.contains("do not share this page or its address"))
        #expect(html.contains("close this tab and return to the application.") == (outcome != .refused))
        #expect(html.contains("please start again from the application.") == (outcome == .refused))
        #expect(!html.contains("http"))
    }

    @Test func showsTheMessageInTheSentencesPlaceInEnglishOnly() throws {
        for english in [RedirectPage.Texts(), try RedirectPage.Texts(language: "EN-gb")] {
            let html = html(.failed, "Port 1 is taken.", english)
            #expect(html.contains("</h1>\n<p>Port 1 is taken.</p>\n<p>You can close"))
        }
        var german = try RedirectPage.Texts(language: "de")
        german.failed.sentence = "Die Anmeldung ist gescheitert."
        #expect(
            html(.failed, "Port 1 is taken.", german).contains(
                """
                </h1>
                <p>Die Anmeldung ist gescheitert.</p>
                <p class="detail" lang="en" dir="auto">Port 1 is taken.</p>
                <p>You can close
                """
            )
        )
    }

    @Test(arguments: slots) func escapesAndCutsEachText(_ slot: Slot) throws {
        var texts = try RedirectPage.Texts(language: "ar")
        let text = "⁂<script>'\"&\u{0}\u{85}</title>{application}" + String(repeating: "y\u{301}", count: 1000)
        texts[keyPath: slot.path] = text
        let template = RedirectPageTemplate(texts: texts, applicationName: "A{application}<i>")
        let html: String
        if slot.path == \.ended {
            guard case .bytes(let bytes) = template.endedResponse().body else { return #expect(Bool(false)) }
            html = String(decoding: bytes, as: UTF8.self)
        } else {
            html = template.html(RedirectPage(outcome: slot.outcome))
        }
        #expect(html.components(of: "⁂&lt;script&gt;&#39;&quot;&amp;  &lt;/title&gt;") == slot.count)
        // The name is inserted once, and a placeholder in it is not replaced.
        #expect(html.components(of: "&lt;/title&gt;<bdi>A{application}&lt;i&gt;</bdi>y\u{301}y") == 1)
        #expect(html.components(of: "<script") == 0 && html.components(of: "</title>") == 1)
        #expect(!html.unicodeScalars.contains { ["\u{0}", "\u{85}"].contains($0) })
        let marks = html.unicodeScalars.count { $0 == "\u{301}" }
        #expect((450 * slot.count...500 * slot.count).contains(marks))
        #expect(html.components(of: "…") == slot.count)
        #expect(html.contains("<html lang=\"ar\">"))
    }

    @Test func cutsALongName() {
        let html = html(.succeeded, applicationName: String(repeating: "n\u{301}", count: 100))
        #expect(html.unicodeScalars.count { $0 == "\u{301}" } == 50)
    }

    /// The direction of the page, and of the English message in it, each declared separately.
    @Test func leavesTheDirectionToTheTexts() throws {
        let arabic = try RedirectPage.Texts(language: "ar")
        #expect(html(.succeeded, nil, arabic).contains("<main dir=\"auto\">"))
        #expect(html(.failed, "No", arabic).components(of: "dir=\"auto\"") == 2)
    }

    @Test(arguments: ["de", "pt-BR", "zh-Hant-TW", "de-CH-1996", "sr-Latn-RS", "es-419", "DE"])
    func takesALanguage(_ language: String) throws {
        let texts = try RedirectPage.Texts(language: language)
        #expect(html(.succeeded, nil, texts).contains("<html lang=\"\(language)\">"))
    }

    @Test(arguments: [
        "", "d", "de_DE", "de_DE.UTF-8", "C.UTF-8", "de-", "-de", "de--DE", "1de", "de DE", "de\" onload=\"x", "de\n",
        "dé",
        "abcdefghi", "de-123456789", "de-abcdefgh-abcdefgh-abcdefgh-abcdefgh", "de\u{301}", "ｄｅ",
    ])
    func refusesWhatIsNoLanguage(_ language: String) {
        let error = #expect(throws: AuthenticationError.self) { try RedirectPage.Texts(language: language) }
        #expect(error?.code == .invalidArgument)
        #expect(error?.message.contains("de or pt-BR") == true)
    }

    @Test func forbidsEverythingItDoesNotNeed() {
        let response = RedirectPageTemplate().response(RedirectPage(outcome: .succeeded), status: 200)
        #expect(response.headers["content-type"] == "text/html; charset=utf-8")
        #expect(response.headers["cache-control"] == "no-store")
        #expect(response.headers["referrer-policy"] == "no-referrer")
        #expect(response.headers["x-content-type-options"] == "nosniff")
        #expect(response.headers["x-frame-options"] == "DENY")
        #expect(
            response.headers["content-security-policy"]
                == "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
        )
        #expect(response.closesConnection)
    }

    /// A text, a page that shows it, and the number of occurrences: a title also appears in the tab.
    struct Slot: Sendable {
        var path: any WritableKeyPath<RedirectPage.Texts, String> & Sendable
        var outcome: RedirectPage.Outcome
        var count = 1
    }

    static let slots = [
        Slot(path: \.succeeded.title, outcome: .succeeded, count: 2),
        Slot(path: \.succeeded.sentence, outcome: .succeeded),
        Slot(path: \.signedOut.title, outcome: .signedOut, count: 2),
        Slot(path: \.signedOut.sentence, outcome: .signedOut),
        Slot(path: \.failed.title, outcome: .failed, count: 2),
        Slot(path: \.failed.sentence, outcome: .failed),
        Slot(path: \.refused.title, outcome: .refused, count: 2),
        Slot(path: \.refused.sentence, outcome: .refused),
        Slot(path: \.ended, outcome: .failed),
        Slot(path: \.advice, outcome: .succeeded),
        Slot(path: \.advice, outcome: .signedOut),
        Slot(path: \.advice, outcome: .failed),
        Slot(path: \.refusedAdvice, outcome: .refused),
        Slot(path: \.caution, outcome: .refused),
    ]
}

extension String {
    /// Compares scalars, as a browser does.
    fileprivate func components(of text: String) -> Int {
        let (all, wanted) = (Array(unicodeScalars), Array(text.unicodeScalars))
        return all.indices.count { all[$0...].starts(with: wanted) }
    }
}
