// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Foundation

/// A browser without a window that records where its address leads.
final class BrowserStandIn: Sendable {
    /// The placeholder for its command in the variables of a ``Tool``.
    static let name = "stand-in"

    /// The script is read, not executed, because a program that was just written cannot always be started.
    private static let script = """
        import http.client, os, sys, urllib.parse
        note, address = sys.argv[1:]
        parts = urllib.parse.urlsplit(address)
        connection = http.client.HTTPConnection(parts.hostname, parts.port, timeout=20)
        connection.request("GET", parts.path, headers={"Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"})
        with open(note + ".part", "w") as file:
            file.write(connection.getresponse().headers["Location"])
        os.rename(note + ".part", note)

        """

    private let path = FileManager.default.temporaryDirectory
        .appendingPathComponent("identityctl-browser-\(UUID().uuidString)").path

    deinit {
        for suffix in ["", ".py"] { try? FileManager.default.removeItem(atPath: path + suffix) }
    }

    /// The value of `--browser`.
    var command: String {
        get throws {
            try Self.script.write(toFile: "\(path).py", atomically: true, encoding: .utf8)
            return "/usr/bin/python3 \(path).py \(path)"
        }
    }

    /// The address that it was led to; `nil` before its start.
    var address: String? { try? String(contentsOfFile: path, encoding: .utf8) }
}
