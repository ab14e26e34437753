// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Testing

@testable import identityctl

@Suite struct EventStreamTests {
    private static let text = """
        : a comment\n\
        data: one\r\n\r\n\
        id: 7\r\ndata:{"a":\r\ndata: 1}\nevent: message\n\n\
        data\n\nid: 8\nretry: 250\ndata:\r\r\
        data: two\n
        """

    private static func texts(_ events: [EventStream.Event]) -> [String] {
        events.map { if case .message(let data) = $0 { String(decoding: data, as: UTF8.self) } else { "too large" } }
    }

    @Test func givesEventsHoweverTheyArrive() throws {
        let bytes = [0xEF, 0xBB, 0xBF] + Array(Self.text.utf8)
        for size in 1...bytes.count {
            var events = EventStream()
            var found: [String] = []
            for start in stride(from: 0, to: bytes.count, by: size) {
                found += Self.texts(events.add(Array(bytes[start..<min(start + size, bytes.count)])))
            }
            // The last event has no end.
            #expect(found == ["one", "{\"a\":\n1}"], "\(size)")
            #expect(events.lastEventID == "8" && events.retry == .milliseconds(250), "\(size)")
        }
    }

    @Test(arguments: ["id: a\u{1}b", "id: é", "id: \(String(repeating: "x", count: 2000))", "id:"])
    func namesNoPlaceThatNoFieldCanHold(_ line: String) throws {
        var events = EventStream(from: "before")
        _ = events.add(Array("\(line)\n\n".utf8))
        #expect(events.lastEventID == nil)
    }

    /// Servers keep connections open with events of other names, and name the older transport's address so.
    @Test func passesOverEventsOfOtherNames() {
        var events = EventStream()
        let text = """
            event: ping\ndata: x\n\nevent:\ndata: one\n\nevent: endpoint\ndata: /messages\nid: 3\n\n\
            event: message\ndata: two\n\nevent: messages\ndata: no\n\ndata: three\n\n
            """
        #expect(Self.texts(events.add(Array(text.utf8))) == ["one", "two", "three"])
        #expect(events.lastEventID == "3")
    }

    @Test(arguments: ["data: \(String(repeating: "x", count: 1000))\n", String(repeating: "y", count: 1000)])
    func skipsAnEventThatIsTooLarge(part: String) {
        var events = EventStream()
        var found: [EventStream.Event] = []
        for _ in 0...2 * MCPMessage.maximumBytes / 1000 { found += events.add(Array(part.utf8)) }
        found += events.add(Array("z\ndata: late\nid: 4\n\nid: 5\ndata: next\n\n".utf8))
        #expect(found.first == .tooLarge && Self.texts(Array(found.dropFirst())) == ["next"])
        #expect(events.lastEventID == "5")
    }

    @Test func waitsAMinuteAtMost() {
        var events = EventStream()
        _ = events.add(Array("retry: 99999999999999999999\n\n".utf8))
        #expect(events.retry == .seconds(60))
    }
}
