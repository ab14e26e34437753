// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Testing

@testable import identityctl

/// The small XML documents of AWS.
@Suite struct XMLTextsTests {
    private func texts(_ text: String) throws -> XMLTexts { try XMLTexts(parsing: Array(text.utf8)) }

    @Test(arguments: [
        ("<a>x</a>", "a", "x"), ("<a><b>x</b> <c/>\n</a>", "a/b", "x"), ("<a/>", "a", ""),
        ("<a> x\n</a >", "a", " x\n"),
        ("\u{FEFF}<?xml version=\"1.0\" encoding='UTF-8'?>\n<a xmlns=\"u\" n:x = 'y>'>x</a>\n", "a", "x"),
        ("<a>&lt;&gt;&amp;&quot;&apos;&#65;&#x1F600;&#10;</a>", "a", "<>&\"'A\u{1F600}\n"),
        ("<a><b>ü</b></a>", "a/b", "ü"),
        ("<a><b><a>x</a></b></a>", "a/b/a", "x"),
    ])
    func readsTexts(document: String, path: String, text: String) throws {
        let texts = try texts(document)
        #expect(texts[path] == text && texts["other"] == nil)
    }

    @Test(arguments: [
        "", "x", "<a>", "<a></b>", "<a></a", "<a><b></a></b>", "<a/><b/>", "<a>x</a>x", "<>x</>", "< a/>", "</a>",
        "<a><b>1</b><b>2</b></a>", "<a><b/><b/></a>", "<a>x<b/></a>", "<a><b/>x</a>",
        "<!DOCTYPE a [<!ENTITY e \"x\">]><a>&e;</a>", "<!DOCTYPE a><a/>", "<a>&e;</a>", "<a>&#0;</a>", "<a>&#x8;</a>",
        "<a>&#xD800;</a>", "<a>&#+65;</a>", "<a>&#;</a>", "<a>&</a>", "<a>&amp</a>", "<a>&#99999999999;</a>",
        "<a>\u{0}</a>",
        "<a>\u{8}</a>", "<a><!-- x --></a>", "<a><![CDATA[x]]></a>", "<a><?x?></a>", "<?xml version='1.0'><a/>",
        "<n:a/>",
        "<a x/>", "<a x=y/>", "<a x='y/>", "<a x='<'/>", "<ax='y'/>", "<a x='y'z='y'/>",
        "<a><a><a><a><a><a><a><a><a/></a></a></a></a></a></a></a></a>",
    ])
    func refusesOtherDocuments(document: String) {
        #expect(throws: XMLTexts.Malformed.self) { try texts(document) }
    }

    @Test func refusesOtherEncodings() {
        #expect(throws: XMLTexts.Malformed.self) {
            try XMLTexts(parsing: [0x3C, 0x61, 0x3E, 0xFF, 0x3C, 0x2F, 0x61, 0x3E])
        }
        #expect(throws: XMLTexts.Malformed.self) {
            try XMLTexts(parsing: Array("<a/>".utf16.flatMap { [UInt8($0), 0] }))
        }
    }

    /// Each beginning of a document ends the parser, and none of them is a document.
    @Test func endsAtEachByte() {
        let document = Array("<?xml version=\"1.0\"?><a b=\"c\"><d>&amp;e</d><f/></a>".utf8)
        for count in 0..<document.count {
            #expect(throws: XMLTexts.Malformed.self) { try XMLTexts(parsing: Array(document[..<count])) }
        }
    }
}
