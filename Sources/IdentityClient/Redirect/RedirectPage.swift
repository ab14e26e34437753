// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import LoopbackHTTP
import OAuthWire

/// The page that the browser shows when it comes back from the provider.
///
/// ```swift
/// await listener.answer(redirect, with: RedirectPage(outcome: .succeeded))
/// ```
public struct RedirectPage: Hashable, Sendable {
    /// How the sign-in or sign-out ended.
    ///
    /// ```swift
    /// let page = RedirectPage(outcome: error == nil ? .succeeded : .failed, message: error?.message)
    /// ```
    @nonexhaustive public enum Outcome: Hashable, Sendable {
        /// The tokens were issued.
        case succeeded
        /// The session with the provider was ended.
        case signedOut
        /// It failed; the page says so.
        case failed
        /// Another redirect than the awaited one: a plain refusal, and the wait goes on.
        case refused
    }

    /// How the sign-in or sign-out ended.
    public var outcome: Outcome

    /// One sentence of plain English for the person, or `nil` for the default. It is escaped, and cut after 1,000
    /// characters. Where the page's ``Texts`` are in another language, it is shown below theirs.
    public var message: String?

    /// Creates a page.
    public init(outcome: Outcome, message: String? = nil) {
        self.outcome = outcome
        self.message = message
    }
}

extension RedirectPage {
    /// The texts of the pages, in the person's language.
    ///
    /// All texts are plain text: escaped, and truncated after 1,000 characters. `{application}` stands for the
    /// program's name. The direction of the page follows from its title.
    ///
    /// ```swift
    /// var texts = try RedirectPage.Texts(language: "de")
    /// texts.succeeded = .init(title: "Angemeldet", sentence: "Die Anmeldung ist abgeschlossen.")
    /// texts.advice = "Sie können diesen Tab schließen und zu {application} zurückkehren."
    /// ```
    public struct Texts: Hashable, Sendable {
        /// The title of a page, and the sentence below it.
        ///
        /// ```swift
        /// texts.failed = .init(title: "Nicht angemeldet", sentence: "Die Anmeldung ist nicht gelungen.")
        /// ```
        public struct Statement: Hashable, Sendable {
            /// The heading, which is also the tab's name.
            public var title: String

            /// One sentence.
            public var sentence: String

            /// Creates a title with its sentence.
            public init(title: String, sentence: String) {
                self.title = title
                self.sentence = sentence
            }
        }

        /// The language of all texts: the page's `lang`.
        public let language: String

        /// The tokens were issued.
        public var succeeded = Statement(title: "Signed in", sentence: "The sign-in is complete.")

        /// The session with the provider was ended.
        public var signedOut = Statement(title: "Signed out", sentence: "The sign-out is complete.")

        /// The sign-in failed. In English, the error's message replaces the sentence; in any other language the English
        /// message is shown below the sentence, as details for support.
        public var failed = Statement(title: "Not signed in", sentence: "The sign-in did not succeed.")

        /// Replaces the failed page's sentence if the program gave up before the browser came back.
        public var ended = "The application no longer waits for this sign-in. Please start again from there."

        /// A request that is not the answer, an old page that is loaded again for example.
        public var refused = Statement(
            title: "Nothing to see here",
            sentence: "The application does not wait for this sign-in."
        )

        /// Advice after a sign-in or sign-out, successful or not.
        public var advice = "You can close this tab and return to {application}."

        /// Advice after a refused request.
        public var refusedAdvice = "If you were signing in, please start again from {application}."

        /// The warning at the end of each page.
        public var caution = "For your security, do not share this page or its address with anyone."

        /// The library's own texts, which are English.
        public init() {
            language = "en"
        }

        /// Texts in another language, or different texts in English. Unset texts stay English: set them all.
        ///
        /// - Parameter language: A BCP 47 tag, for example `de` or `pt-BR`.
        /// - Throws: `AuthenticationError(.invalidArgument, …)` if `language` is not a language tag.
        /// - SeeAlso: [RFC 5646 §2.1](https://www.rfc-editor.org/rfc/rfc5646#section-2.1)
        public init(language: String) throws {
            guard Self.isTag(language) else {
                throw AuthenticationError(
                    .invalidArgument,
                    "The language of the page's texts is not a tag such as de or pt-BR (BCP 47; not a locale's name)."
                )
            }
            self.language = language
        }

        /// Whether the error's English message can replace a sentence.
        var isEnglish: Bool {
            language.split(separator: "-").first?.lowercased() == "en"
        }

        /// Letters first, then letters and digits, in parts of at most eight; the recommended maximum length (RFC 5646
        /// §4.4.1).
        private static func isTag(_ text: String) -> Bool {
            let parts = text.utf8.split(separator: UInt8(ascii: "-"), omittingEmptySubsequences: false)
            return text.utf8.count <= 35 && parts[0].count > 1 && parts[0].allSatisfy(isLetter)
                && parts.allSatisfy { part in
                    (1...8).contains(part.count) && part.allSatisfy(\.isAlphanumeric)
                }
        }

        private static func isLetter(_ byte: UInt8) -> Bool {
            (0x61...0x7A).contains(byte | 0x20)
        }
    }
}

extension StringProtocol {
    /// The text, safe anywhere in a page. It is escaped by scalars: `<` and a combining accent are one `Character`, but
    /// a browser sees the `<`.
    package var escapedForHTML: String {
        var result = ""
        for scalar in unicodeScalars {
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
        return result
    }
}
