// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

/// One way to open an address.
struct BrowserCommand: Hashable, Sendable {
    /// A name to look up in `PATH`, or an absolute path.
    var program: String
    /// `%s` in them stands for the address and `%%` for a percent sign, if `substitutes`.
    var arguments: [String] = []
    var substitutes = false

    /// The ways to try, in their order; none under `sudo`, where a browser would run as root.
    static func candidates(command: [String]?, environment: LaunchEnvironment) -> [BrowserCommand] {
        guard !environment.isSudo else { return [] }
        var candidates: [BrowserCommand] = []
        if let command, let program = command.first {
            candidates.append(BrowserCommand(program: program, arguments: Array(command.dropFirst())))
        }
        for entry in environment.value("BROWSER")?.split(separator: ":") ?? [] {
            let words = entry.split(whereSeparator: \.isWhitespace).map(String.init)
            guard let program = words.first else { continue }
            candidates.append(BrowserCommand(program: program, arguments: Array(words.dropFirst()), substitutes: true))
        }
        guard environment.display != nil else { return candidates }
        candidates += [
            BrowserCommand(program: "xdg-open"),
            BrowserCommand(program: "gio", arguments: ["open"]),
            BrowserCommand(program: "gnome-open"),
            BrowserCommand(program: "kde-open"),
        ]
        if environment.isWSL {
            candidates.append(BrowserCommand(program: "wslview"))
            candidates.append(BrowserCommand(program: "rundll32.exe", arguments: ["url.dll,FileProtocolHandler"]))
        }
        candidates.append(BrowserCommand(program: "microsoft-edge"))
        return candidates
    }

    /// The arguments with the address in its place: where `%s` stands, else last.
    func arguments(for address: String) -> [String] {
        guard substitutes else { return arguments + [address] }
        var isPlaced = false
        let filled = arguments.map { Self.filled($0, with: address, isPlaced: &isPlaced) }
        return isPlaced ? filled : filled + [address]
    }

    /// In one pass, so that a percent sign of the address is left alone.
    private static func filled(_ argument: String, with address: String, isPlaced: inout Bool) -> String {
        var result = ""
        var rest = argument[...]
        while let character = rest.popFirst() {
            switch (character, rest.first) {
            case ("%", "s"):
                result += address
                isPlaced = true
            case ("%", "%"):
                result += "%"
            default:
                result.append(character)
                continue
            }
            rest.removeFirst()
        }
        return result
    }
}
