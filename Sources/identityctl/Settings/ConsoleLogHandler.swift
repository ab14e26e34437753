// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import IdentityClient
import Logging

/// A log handler that writes each event to standard error as one line, with its time in UTC. The library never logs a secret.
struct ConsoleLogHandler: LogHandler {
    var logLevel: Logger.Level
    var metadata: Logger.Metadata = [:]
    let console: Console

    init(level: Logger.Level, console: Console) {
        logLevel = level
        self.console = console
    }

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    func log(event: LogEvent) {
        var values = metadata
        for (key, value) in event.metadata ?? [:] { values[key] = value }
        let details = values.sorted { $0.key < $1.key }.map { " \($0.key)=\($0.value)" }.joined()
        console.line("\(Date.now.utcText) [\(event.level.rawValue)] \("\(event.message)\(details)".printable)")
    }
}
