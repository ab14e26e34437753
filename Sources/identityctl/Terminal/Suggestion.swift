// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

/// The name that was meant by a mistyped one.
enum Suggestion {
    /// Returns a question with the nearest of `names`, after a blank; an empty text if none is near.
    static func text(for word: String, among names: some Sequence<String>) -> String {
        nearest(to: word, among: names).map { " Did you mean '\($0)'?" } ?? ""
    }

    /// Returns the nearest of `names`, the first of several; `nil` if none is near.
    ///
    /// A name is near if it begins with the word, of three letters or more, or differs in a third of its letters at most.
    static func nearest(to word: String, among names: some Sequence<String>) -> String? {
        let typed = Array(word.lowercased().utf8)
        guard (2...64).contains(typed.count) else { return nil }
        var best: (name: String, distance: Int)?
        for name in names {
            let letters = Array(name.utf8)
            let isBeginning = typed.count > 2 && letters.starts(with: typed)
            let distance = isBeginning ? 1 : distance(from: typed, to: letters)
            guard distance <= max(1, min(typed.count, letters.count) / 3), distance < best?.distance ?? .max else {
                continue
            }
            best = (name, distance)
        }
        return best?.name
    }

    /// The fewest letters that are put in, left out or changed, or neighbors that change places.
    private static func distance(from first: [UInt8], to second: [UInt8]) -> Int {
        var (before, last) = ([Int](), Array(0...second.count))
        for (row, letter) in first.enumerated() {
            var line = [row + 1]
            for (column, other) in second.enumerated() {
                var least = min(last[column] + (letter == other ? 0 : 1), last[column + 1] + 1, line[column] + 1)
                if row > 0, column > 0, letter == second[column - 1], first[row - 1] == other {
                    least = min(least, before[column - 1] + 1)
                }
                line.append(least)
            }
            (before, last) = (last, line)
        }
        return last[second.count]
    }
}
