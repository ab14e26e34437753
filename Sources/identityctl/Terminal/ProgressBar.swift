// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import IdentityClient
import IdentityResources

/// The progress of a transfer, in one line.
struct ProgressBar {
    private var begin: ContinuousClock.Instant?
    private static let width: Int64 = 24

    init() {}

    /// Returns the line for `progress`. Its speed is the average since the first line.
    mutating func text(_ progress: TransferProgress, at now: ContinuousClock.Instant) -> String {
        let begin = begin ?? now
        self.begin = begin
        let done = progress.completedBytes
        let milliseconds = (now - begin) / .milliseconds(1)
        let speed = milliseconds < 200 ? "" : ", \(Self.size(Int64(min(1e15, Double(done) / milliseconds * 1000))))/s"
        guard let total = progress.totalBytes else { return "\(Self.size(done))\(speed)" }
        let share = total > 0 ? Double(done) / Double(total) : 1
        let filled = Int(Double(Self.width) * min(1, share))
        let bar = String(repeating: "#", count: filled) + String(repeating: ".", count: Int(Self.width) - filled)
        return "[\(bar)] \(Int(share * 100)) %, \(Self.size(done)) of \(Self.size(total))\(speed)"
    }

    /// Returns a number of bytes for people: `950 B`, `12.3 MB`.
    static func size(_ bytes: Int64) -> String {
        guard bytes >= 1000 else { return "\(bytes) B" }
        var tenths = bytes / 100 + (bytes % 100 >= 50 ? 1 : 0)
        for unit in ["kB", "MB", "GB"] {
            if tenths < 10_000 { return "\(tenths / 10).\(tenths % 10) \(unit)" }
            tenths = (tenths + 500) / 1000
        }
        return "\(tenths / 10).\(tenths % 10) TB"
    }
}
