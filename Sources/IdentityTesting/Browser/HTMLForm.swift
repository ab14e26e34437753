// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import OAuthWire

/// The first form of a page, with the parts that a scripted person needs.
struct HTMLForm {
    var action: String
    var method: String
    /// The fields with their values. A radio button is included only if it is checked.
    var fields: [(name: String, value: String)]
    /// The values of the buttons named `action`.
    var buttons: [String]
    /// Whether a script on the page submits the form.
    var submitsItself: Bool

    init?(_ html: String) {
        guard let start = html.firstRange(of: "<form"), let end = html[start.upperBound...].firstRange(of: "</form>")
        else { return nil }
        let text = html[start.lowerBound..<end.lowerBound]
        var tags = text.split(separator: "<").compactMap { Self.tag($0) }
        guard let form = tags.first, form.name == "form", let action = form.attributes["action"] else { return nil }
        tags.removeFirst()
        self.action = action
        method = (form.attributes["method"] ?? "get").uppercased()
        fields = tags.compactMap { tag in
            guard tag.name == "input", let name = tag.attributes["name"] else { return nil }
            if tag.attributes["type"] == "radio", tag.attributes["checked"] == nil { return nil }
            return (name, tag.attributes["value"] ?? "")
        }
        buttons = tags.filter { $0.name == "button" && $0.attributes["name"] == "action" }.compactMap {
            $0.attributes["value"]
        }
        submitsItself = html[end.upperBound...].contains("document.forms[0].submit()")
    }

    /// The text that a person reads on a page: the content of its `main` or of the whole page, without the tags.
    static func text(of html: String) -> String {
        let begin = html.firstRange(of: "<main>")?.upperBound ?? html.startIndex
        let parts: [Substring] = html[begin...].split(separator: "<").map { part in
            part.firstIndex(of: ">").map { part[part.index(after: $0)...] } ?? part
        }
        let words = unescaped(Substring(parts.joined(separator: " "))).split { $0.isWhitespace }
        return words.joined(separator: " ")
    }

    private static func tag(_ text: Substring) -> (name: String, attributes: [String: String])? {
        var rest = text.prefix { $0 != ">" }
        let name = rest.prefix { $0.isLetter }
        guard !name.isEmpty else { return nil }
        rest = rest.dropFirst(name.count)
        var attributes: [String: String] = [:]
        while true {
            rest = rest.drop { $0.isWhitespace }
            let key = rest.prefix { $0 != "=" && !$0.isWhitespace }
            guard !key.isEmpty else { break }
            rest = rest.dropFirst(key.count)
            guard rest.hasPrefix("=\"") else {
                attributes[key.lowercased()] = ""
                continue
            }
            rest = rest.dropFirst(2)
            let value = rest.prefix { $0 != "\"" }
            rest = rest.dropFirst(value.count + 1)
            attributes[key.lowercased()] = unescaped(value)
        }
        return (name.lowercased(), attributes)
    }

    private static func unescaped(_ text: Substring) -> String {
        var output = String(text)
        for (entity, character) in [("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&#39;", "'"), ("&amp;", "&")] {
            output = output.split(separator: entity, omittingEmptySubsequences: false).joined(separator: character)
        }
        return output
    }
}
