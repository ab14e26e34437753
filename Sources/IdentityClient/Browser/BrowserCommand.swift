// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Glibc

/// What the choice of a browser depends on.
struct LaunchEnvironment: Sendable {
    var variables: [String: String]
    /// Whether Linux runs under Windows.
    var isWSL: Bool
    /// Whether another user became root for this program.
    var isSudo: Bool

    static var current: LaunchEnvironment {
        let variables = ProcessInfo.processInfo.environment
        let kernel =
            FileManager.default.contents(atPath: "/proc/version").map { String(decoding: $0, as: UTF8.self) } ?? ""
        return LaunchEnvironment(
            variables: variables,
            isWSL: variables["WSL_DISTRO_NAME"] != nil || kernel.lowercased().contains("microsoft"),
            isSudo: geteuid() == 0 && variables["SUDO_UID"] != nil
        )
    }

    /// Whether there is anything to show a window on.
    var isGraphical: Bool {
        isWSL || value("DISPLAY") != nil || value("WAYLAND_DISPLAY") != nil
    }

    /// A variable, unless it is empty.
    func value(_ name: String) -> String? {
        variables[name].flatMap { $0.isEmpty ? nil : $0 }
    }

    /// The program as an absolute path, looked up in the absolute directories of `PATH`; never in the current one.
    func executable(_ program: String) -> String? {
        guard !program.contains("/") else {
            return program.hasPrefix("/") && Self.isExecutable(program) ? program : nil
        }
        let path = value("PATH") ?? "/usr/local/bin:/usr/bin:/bin"
        return path.split(separator: ":")
            .filter { $0.hasPrefix("/") }
            .map { "\($0)/\(program)" }
            .first(where: Self.isExecutable)
    }

    /// Why none of `candidates` was found.
    func reason(for candidates: [BrowserCommand]) -> String {
        let session =
            isGraphical
            ? nil
            : "there is no graphical session (DISPLAY and WAYLAND_DISPLAY are not set"
                + (value("SSH_CONNECTION") == nil ? ")" : "; this is an SSH session)")
        guard !candidates.isEmpty else { return session ?? "no command is known" }
        let names = candidates.map(\.program).joined(separator: ", ")
        return ["none of \(names) is an installed program", session].compactMap(\.self).joined(separator: ", and ")
    }

    private static func isExecutable(_ path: String) -> Bool {
        var status = stat()
        guard unsafe stat(path, &status) == 0, status.st_mode & S_IFMT == S_IFREG else { return false }
        return unsafe access(path, X_OK) == 0
    }
}

/// One way to open an address.
struct BrowserCommand: Hashable, Sendable {
    /// A name to look up in `PATH`, or an absolute path.
    var program: String
    /// `%s` in them stands for the address and `%%` for a percent sign, if `substitutes`.
    var arguments: [String] = []
    var substitutes = false

    /// The ways to try, in their order.
    static func candidates(command: [String]?, environment: LaunchEnvironment) -> [BrowserCommand] {
        var candidates: [BrowserCommand] = []
        if let command, let program = command.first {
            candidates.append(BrowserCommand(program: program, arguments: Array(command.dropFirst())))
        }
        for entry in environment.value("BROWSER")?.split(separator: ":") ?? [] {
            let words = entry.split(whereSeparator: \.isWhitespace).map(String.init)
            guard let program = words.first else { continue }
            candidates.append(BrowserCommand(program: program, arguments: Array(words.dropFirst()), substitutes: true))
        }
        guard environment.isGraphical else { return candidates }
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
