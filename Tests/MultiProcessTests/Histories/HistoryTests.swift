// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Testing

/// The checker itself: each history has one operation a line (`HistoryOperation.init(_:)`), with numbers for times.
@Suite struct HistoryTests {
    private func violation(_ history: [String]) throws -> String? {
        let operations = history.compactMap { HistoryOperation($0) }
        try #require(operations.count == history.count, "a line that is no operation")
        return try HistoryCheck(operations).violation()
    }

    @Test(
        arguments: [
            [],
            ["0 1 r -"],
            ["0 1 w - a true", "2 3 r a", "4 5 w a b true", "6 7 r b", "8 9 w b - true", "10 11 r -"],
            // While a write runs, a read may see the old value or the new one, in this order.
            ["0 9 w - a true", "1 2 r -", "3 4 r a"],
            // Of two that compare with the same value, one wins.
            ["0 9 w - a true", "1 8 w - b false", "10 11 r a"],
            // The loser's call may come first.
            ["0 9 w - a false", "1 8 w - b true", "10 11 r b"],
            // A failed comparison, because another value was there for a moment.
            ["0 1 w - a true", "2 9 w a b true", "3 9 w b a true", "4 8 w a c false", "10 11 r a"],
            // A process that died: its write took effect late, early or never.
            ["0 ? w - a ?", "1 2 r -", "3 4 r a"],
            ["0 ? w - a ?", "1 2 r -", "3 4 r -"],
            ["0 ? w - a ?", "1 2 w - b true", "3 4 w b - true", "5 6 r a"],
            ["0 1 w - a true", "2 ? w a - ?", "3 4 r a", "5 6 r -"],
            // Times that touch are at the same time.
            ["0 1 w - a true", "1 2 r -"],
            // Writing what is there.
            ["0 1 w - a true", "2 3 w a a true", "4 5 r a"],
        ]
    )
    func accepts(_ history: [String]) throws {
        #expect(try violation(history) == nil)
    }

    @Test(
        arguments: [
            // A value that was never written, and one from before the first write.
            ["0 1 r a"],
            ["0 1 w - a true", "2 3 r b"],
            // A stale read.
            ["0 1 w - a true", "2 3 r -"],
            ["0 1 w - a true", "2 3 w a b true", "4 5 r a"],
            // The new value is seen, and then the old one.
            ["0 9 w - a true", "1 2 r a", "3 4 r -"],
            // A lost write, which said that it was done.
            ["0 1 w - a true", "2 3 w a b true", "4 5 w a c true"],
            ["0 1 w - a true", "2 3 w a b true", "4 5 r b", "6 7 r a"],
            // Two winners of one comparison.
            ["0 9 w - a true", "1 8 w - b true", "10 11 r b"],
            // A comparison that fails where nothing else is.
            ["0 1 w - a true", "2 3 w a b false", "4 5 r a"],
            ["0 1 w - a false"],
            // One that succeeds where something else is.
            ["0 1 w - a true", "2 3 w - b true"],
            // A removed value comes back.
            ["0 1 w - a true", "2 3 w a - true", "4 5 r a"],
            // A dead process's write takes effect, and then it never was.
            ["0 ? w - a ?", "1 2 r a", "3 4 r -"],
            // Its write before its call.
            ["0 1 r a", "2 ? w - a ?"],
            // Reads of two processes in opposite orders.
            ["0 1 w - a true", "2 20 w a b true", "3 20 w b c true", "4 5 r c", "6 7 r b"],
        ]
    )
    func rejects(_ history: [String]) throws {
        #expect(try violation(history) != nil)
    }

    @Test func readsALogWhoseWriterDied() {
        let log = """
            C 1 10 r a
            R 1 11 -
            C 2 12 w a - x.2
            R 2 13 true
            C 3 14 w a x.2 -
            R 3 15 ?
            C 4 16 r a
            C 5 17 w b - x.5
            C 6 1
            """
        let lines = ["10 11 r -", "12 13 w - x.2 true", "14 ? w x.2 - ?", "17 ? w - x.5 ?"]
        let read = HistoryOperation.log(log)
        #expect(read.map(\.operation) == lines.compactMap { HistoryOperation($0) })
        #expect(read.map(\.record) == ["a", "a", "a", "b"])
    }

    /// A search that tries each order would not end.
    @Test(.timeLimit(.minutes(1))) func decidesAHistoryOfManyAtOnce() throws {
        var lines = (0..<20).map { "\($0) ? w - dead.\($0) ?" }
        var value = "-"
        for number in 0..<300 {
            let time = 100 + number * 10
            lines.append("\(time) \(time + 25) w \(value) \(number) true")
            lines += (1..<10).map { "\(time + $0) \(time + 15 + $0) w x.\($0) y false" }
            value = "\(number)"
        }
        #expect(try violation(lines) == nil)
        #expect(try violation(lines + ["5000 5001 r 12"]) != nil)
    }
}
