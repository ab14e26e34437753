// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import IdentityTestSupport
import Logging

/// A log handler that keeps the lines a program's log would have, from a level on.
struct LogLines: LogHandler {
    let lines: Shared<[String]>
    var metadata: Logger.Metadata = [:]
    var logLevel: Logger.Level

    init(from level: Logger.Level, in lines: Shared<[String]>) {
        self.lines = lines
        logLevel = level
    }

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    func log(event: LogEvent) {
        lines.withLock { $0.append("\(event.message)") }
    }
}

extension Logger {
    /// A logger that keeps what it is told, from a level on.
    static func keeping(_ lines: Shared<[String]>, from level: Logger.Level) -> Logger {
        Logger(label: "test") { _ in LogLines(from: level, in: lines) }
    }
}
