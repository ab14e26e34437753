// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Glibc
import Synchronization

/// A fixed amount of work without the library. A slow machine slows it down as much as it slows the library.
///
/// It does the work of a silent hit, in similar parts: it awaits, hashes and compares strings, counts references,
/// locks, and reads the clock. Processors differ in how fast they do each of these, so a missing part would make the
/// ratio depend on the machine. `Benchmarks/marks.json` holds ratios to this work, so a change here requires new marks
/// (`Scripts/bench --set-marks`).
struct Calibration {
    private let table: [String: Entry]
    private let keys: [String]
    private let steps: any CalibrationStep

    init() {
        let keys = (0..<16).map { "calibration-key-number-\($0)" }
        self.keys = keys
        table = Dictionary(uniqueKeysWithValues: keys.map { ($0, Entry($0)) })
        steps = LockedStep()
    }

    func run() async {
        var sum = 0
        for key in keys.prefix(4) { sum += await steps.length(of: key, in: table) }
        precondition(sum == 4 * keys[0].utf8.count)
    }
}

/// A value whose copy counts six references.
private struct Entry: Sendable {
    final class Text: Sendable {
        let value: String

        init(_ value: String) { self.value = value }
    }

    let texts: (Text, Text, Text, Text, Text, Text)

    init(_ value: String) {
        texts = (Text(value), Text(value), Text(value), Text(value), Text(value), Text(value))
    }
}

private protocol CalibrationStep: Sendable {
    func length(of key: String, in table: [String: Entry]) async -> Int
}

private final class LockedStep: CalibrationStep {
    private let seconds = Mutex(0)

    @inline(never)
    func length(of key: String, in table: [String: Entry]) async -> Int {
        guard let entry = table[key] else { return 0 }
        var now = timespec()
        clock_gettime(CLOCK_REALTIME, &now)
        seconds.withLock { $0 = now.tv_sec }
        return copied(entry).texts.5.value == key ? key.utf8.count : 0
    }

    @inline(never)
    private func copied(_ entry: Entry) -> Entry { entry }
}
