// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

/// A fixed piece of work, none of it the library's. A slow machine slows it down as much as it slows the library.
///
/// It does what a silent hit does most: hashes strings, compares them, counts references, allocates, and awaits.
/// `Benchmarks/marks.json` holds ratios to it: a change of it calls for new marks (`Scripts/bench --set-marks`).
struct Calibration {
    private let table: [String: Box]
    private let keys: [String]
    private let steps: any CalibrationStep = PlainStep()

    init() {
        let keys = (0..<16).map { "calibration-key-number-\($0)" }
        self.keys = keys
        table = Dictionary(uniqueKeysWithValues: keys.map { ($0, Box(value: $0)) })
    }

    func run() async {
        var sum = 0
        for key in keys.prefix(4) { sum += await steps.length(of: key, in: table) }
        precondition(sum == 4 * keys[0].utf8.count)
    }
}

private final class Box: Sendable {
    let value: String

    init(value: String) { self.value = value }
}

private protocol CalibrationStep: Sendable {
    func length(of key: String, in table: [String: Box]) async -> Int
}

private struct PlainStep: CalibrationStep {
    @inline(never)
    func length(of key: String, in table: [String: Box]) async -> Int {
        guard let found = table[key] else { return 0 }
        let copy = Box(value: found.value)
        return copy.value == key ? copy.value.utf8.count : 0
    }
}
