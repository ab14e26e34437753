// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Foundation

/// A browser without a window that records where its address leads.
final class BrowserStandIn: Sendable {
    /// The placeholder for its command in the variables of a ``Tool``.
    static let name = "stand-in"

    /// The script is read, not executed, because a program that was just written cannot always be started.
    private static let script = """
        import http.client, os, re, sys, urllib.parse
        note, address = sys.argv[1:]
        parts = urllib.parse.urlsplit(address)
        connection = http.client.HTTPConnection(parts.hostname, parts.port, timeout=20)
        def get(path):
            connection.request("GET", path, headers={"Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"})
            answer = connection.getresponse()
            return answer.headers["Location"], answer.read().decode()
        def write(name, text):
            with open(name + ".part", "w") as file:
                file.write(text)
            os.rename(name + ".part", name)
        location, page = get(parts.path)
        if not location:
            write(note + ".question", page)
            kind = "answer" if os.environ.get("PERSON_MODE") == "disagree" else "answer agreement"
            location, page = get(re.search(f'class="{kind}" href="([^"]+)"', page).group(1))
        if location:
            write(note, location)

        """

    private let path = FileManager.default.temporaryDirectory
        .appendingPathComponent("identityctl-browser-\(UUID().uuidString)").path

    deinit {
        for suffix in ["", ".py", ".question"] { try? FileManager.default.removeItem(atPath: path + suffix) }
    }

    /// The value of `--browser`.
    var command: String {
        get throws {
            try Self.script.write(toFile: "\(path).py", atomically: true, encoding: .utf8)
            return "/usr/bin/python3 \(path).py \(path)"
        }
    }

    /// The page that asked first, to which it agrees unless PERSON_MODE is `disagree`; `nil` without one.
    var question: String? { try? String(contentsOfFile: path + ".question", encoding: .utf8) }

    /// The address that it was led to; `nil` before its start.
    var address: String? { try? String(contentsOfFile: path, encoding: .utf8) }
}
