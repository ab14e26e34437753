// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Foundation

/// A browser without a window that records where its address leads.
final class BrowserStandIn: Sendable {
    /// The placeholder for its command in the variables of a ``Tool``.
    static let name = "stand-in"

    /// The script is read, not executed, because a program that was just written cannot always be started.
    private static let script = """
        import os, sys
        support, note, address = sys.argv[1:]
        sys.path.insert(0, support)
        from person import behind_start
        def write(name, text):
            with open(name + ".part", "w") as file:
                file.write(text)
            os.rename(name + ".part", name)
        location = behind_start(address, lambda page: write(note + ".question", page))
        if location != address:
            write(note, location)

        """

    private static let support = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        .appending(path: "../../Support/browser").standardized.path
    private let path = FileManager.default.temporaryDirectory
        .appendingPathComponent("identityctl-browser-\(UUID().uuidString)").path

    deinit {
        for suffix in ["", ".py", ".question"] { try? FileManager.default.removeItem(atPath: path + suffix) }
    }

    /// The value of `--browser`.
    var command: String {
        get throws {
            try Self.script.write(toFile: "\(path).py", atomically: true, encoding: .utf8)
            return "/usr/bin/python3 -B \(path).py \(Self.support) \(path)"
        }
    }

    /// Leads the browser to an address that the tool has given to another program.
    func open(_ address: String) throws {
        let words = try command.split(separator: " ").map(String.init)
        let process = Process()
        process.executableURL = URL(fileURLWithPath: words[0])
        process.arguments = Array(words.dropFirst()) + [address]
        try process.run()
    }

    /// The page that asked first, to which it agrees unless PERSON_MODE is `disagree`; `nil` without one.
    var question: String? { try? String(contentsOfFile: path + ".question", encoding: .utf8) }

    /// The address that it was led to; `nil` before its start.
    var address: String? { try? String(contentsOfFile: path, encoding: .utf8) }
}
