// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

/// A command that opens an address.
package struct BrowserCommand: Hashable, Sendable {
    /// A name to look up in `PATH`, or an absolute path.
    package var program: String
    /// If `substitutes`, `%s` stands for the address and `%%` for a percent sign.
    package var arguments: [String] = []
    package var substitutes = false

    /// The commands to try, in order; none under `sudo`, where a browser would run as root.
    package static func candidates(command: [String]?, environment: LaunchEnvironment) -> [BrowserCommand] {
        var candidates = named(command: command, environment: environment)
        guard !environment.isSudo, environment.display != nil else { return candidates }
        if environment.isWSL {
            // Tried first, because the person's browser is a Windows program, and `xdg-open` may wait there for ever.
            // `wslview` passes the address through a Windows shell, and requests it from the server, although an
            // address may work only once.
            candidates.append(BrowserCommand(program: "rundll32.exe", arguments: ["url.dll,FileProtocolHandler"]))
            candidates.append(BrowserCommand(program: "wslview"))
        }
        candidates += [
            BrowserCommand(program: "xdg-open"),
            BrowserCommand(program: "gio", arguments: ["open"]),
            BrowserCommand(program: "gnome-open"),
            BrowserCommand(program: "kde-open"),
            BrowserCommand(program: "microsoft-edge"),
        ]
        return candidates
    }

    /// The commands that the program and `$BROWSER` name; none under `sudo`.
    static func named(command: [String]?, environment: LaunchEnvironment) -> [BrowserCommand] {
        guard !environment.isSudo else { return [] }
        var candidates: [BrowserCommand] = []
        if let command, let program = command.first {
            candidates.append(BrowserCommand(program: program, arguments: Array(command.dropFirst())))
        }
        for entry in environment.value("BROWSER")?.split(separator: ":") ?? [] {
            if let command = BrowserCommand(entry: entry, in: environment) { candidates.append(command) }
        }
        return candidates
    }

    /// The arguments with the address, in place of `%s`, otherwise last.
    package func arguments(for address: String) -> [String] {
        guard substitutes else { return arguments + [address] }
        var isPlaced = false
        let filled = arguments.map { Self.filled($0, with: address, isPlaced: &isPlaced) }
        return isPlaced ? filled : filled + [address]
    }

    /// In one pass, so that percent signs of the address stay.
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

extension BrowserCommand {
    /// One entry of `$BROWSER`; `nil` for an empty entry.
    fileprivate init?(entry: Substring, in environment: LaunchEnvironment) {
        let words = entry.split(whereSeparator: \.isWhitespace)
        guard let first = words.first else { return nil }
        let path = entry[first.startIndex...]
        if let quote = path.first, "\"'".contains(quote), let end = path.dropFirst().firstIndex(of: quote) {
            self.init(
                program: String(path[..<end].dropFirst()),
                arguments: path[end...].dropFirst().split(whereSeparator: \.isWhitespace).map(String.init),
                substitutes: true
            )
            return
        }
        // Windows programs have spaces in their paths: the path has as many words as needed to name a program.
        let isProgram = { (end: String.Index) in environment.executable(String(path[..<end])) != nil }
        let end = (path.hasPrefix("/") ? words.map(\.endIndex).last(where: isProgram) : nil) ?? first.endIndex
        self.init(
            program: String(path[..<end]),
            arguments: path[end...].split(whereSeparator: \.isWhitespace).map(String.init),
            substitutes: true
        )
    }
}
