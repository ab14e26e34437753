// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Glibc
import SystemSupport

/// The person's default browser, as the desktop's files name it. No program is started to ask.
///
/// - SeeAlso: [MIME Applications](https://specifications.freedesktop.org/mime-apps-spec/latest/),
///   [Desktop Entry Specification](https://specifications.freedesktop.org/desktop-entry-spec/latest/)
struct DefaultBrowser {
    private static let type = "x-scheme-handler/https"
    private static let sizeLimit = 4 << 20

    /// The name of the entry, such as `firefox.desktop`; `nil` if there is none.
    let entry: String?
    /// The program, and for `flatpak` its arguments.
    let command: BrowserCommand?

    init(_ environment: LaunchEnvironment) {
        let places = Places(environment)
        let chosen = places.choices.flatMap { Self.entries(in: $0, "Default Applications") }
        let known = places.caches.flatMap { Self.entries(in: $0, "MIME Cache") }
        for name in chosen + known {
            for directory in places.applications {
                let members = Self.members(of: "\(directory)/\(name)", "Desktop Entry")
                guard let exec = members["Exec"], members["Hidden"] != "true" else { continue }
                entry = name
                command = Self.command(Self.words(of: exec))
                return
            }
        }
        (entry, command) = (nil, nil)
    }

    private static func entries(in list: String, _ section: String) -> [String] {
        let names = (members(of: list, section)[type] ?? "").unicodeScalars.split(separator: ";").map(String.init)
        return names.filter { $0.hasSuffix(".desktop") && !$0.utf8.contains(UInt8(ascii: "/")) && !$0.hasPrefix(".") }
    }

    /// Returns the members of a section, without those in other languages. A file that cannot be read has none.
    private static func members(of path: String, _ section: String) -> [String: String] {
        guard let file = FileManager.default.contents(atPath: path), file.count <= sizeLimit else { return [:] }
        var members: [String: String] = [:]
        var isInSection = false
        for line in file.split(separator: UInt8(ascii: "\n")) {
            guard let text = String(validating: line, as: UTF8.self), !text.hasPrefix("#") else { continue }
            if text.hasPrefix("[") {
                isInSection = text.hasPrefix("[\(section)]")
            } else if isInSection, let sign = text.firstIndex(of: "=") {
                let name = text[..<sign].trimmingPrefix(while: \.isWhitespace)
                let value = text[text.index(after: sign)...].trimmingPrefix(while: \.isWhitespace)
                members[name.split(separator: " ").first.map(String.init) ?? ""] = String(value)
            }
        }
        return members
    }

    /// Returns the words of `Exec`, without field codes such as `%u`.
    static func words(of exec: String) -> [String] {
        var words: [String] = []
        var word: String?
        var isQuoted = false
        // Escaped for the value, and in quotes once more for the argument.
        var rest = exec.replacing("\\\\", with: "\\").unicodeScalars[...]
        while let scalar = rest.popFirst() {
            switch scalar {
            case "\"":
                isQuoted.toggle()
                word = word ?? ""
            case "\\" where isQuoted: word = (word ?? "") + (rest.popFirst().map { String($0) } ?? "")
            case " " where !isQuoted, "\t" where !isQuoted, "\r" where !isQuoted:
                if let word { words.append(word) }
                word = nil
            case "%" where !isQuoted:
                if rest.popFirst() == "%" { word = (word ?? "") + "%" }
            default: word = (word ?? "") + String(scalar)
            }
        }
        return words + [word].compactMap(\.self)
    }

    private static func command(_ words: [String]) -> BrowserCommand? {
        var words = words[...]
        // A snap's entry sets a variable first.
        if words.first == "env" || words.first == "/usr/bin/env" {
            words = words.dropFirst().drop { $0.contains("=") }
        }
        guard let program = words.first else { return nil }
        let isFlatpak = program == "flatpak" || program.hasSuffix("/flatpak")
        return BrowserCommand(program: program, arguments: isFlatpak ? Array(words.dropFirst()) : [])
    }

    /// The files of the desktop, those that count first in front.
    private struct Places {
        let choices: [String]
        let caches: [String]
        let applications: [String]

        init(_ environment: LaunchEnvironment) {
            let home = environment.value("HOME")
            func directories(_ own: String, _ below: String, _ shared: String, _ standard: String) -> [String] {
                let own = environment.value(own) ?? home.map { "\($0)/\(below)" }
                let shared = (environment.value(shared) ?? standard).split(separator: ":").map(String.init)
                // The specification says to ignore relative paths.
                return ([own].compactMap(\.self) + shared).filter { $0.hasPrefix("/") }
            }
            let config = directories("XDG_CONFIG_HOME", ".config", "XDG_CONFIG_DIRS", "/etc/xdg")
            applications = directories("XDG_DATA_HOME", ".local/share", "XDG_DATA_DIRS", "/usr/local/share:/usr/share")
                .map { "\($0)/applications" }
            let desktops = (environment.value("XDG_CURRENT_DESKTOP") ?? "").lowercased().split(separator: ":")
                .filter { !$0.utf8.contains(UInt8(ascii: "/")) }
            choices = (config + applications).flatMap { directory in
                desktops.map { "\(directory)/\($0)-mimeapps.list" } + ["\(directory)/mimeapps.list"]
            }
            caches = applications.map { "\($0)/mimeinfo.cache" }
        }
    }
}

/// The AppImage or snap that contains the program. Its launcher points the loader, GTK, GIO and others at the bundle's libraries. A system program that finds these libraries may not even start.
enum ProgramBundle {
    /// The variables for a program outside the bundle, without the bundle's paths.
    ///
    /// This covers every variable: packaging tools set a dozen or more, and a path in a bundle is useless outside.
    static func environment(_ variables: [String: String], outside roots: [String]) -> [String: String] {
        guard !roots.isEmpty else { return variables }
        return variables.reduce(into: variables) { result, variable in
            let (name, value) = variable
            guard !marks.contains(name) else { return }
            let entries = value.split { $0 == ":" || name == "LD_PRELOAD" && $0.isWhitespace }
            let outside = entries.filter { entry in
                !roots.contains { entry == $0 || entry.hasPrefix($0 + "/") }
            }
            guard outside.count < entries.count else { return }
            result[name] = outside.isEmpty ? nil : outside.joined(separator: ":")
        }
    }

    /// The directories of the bundles in these variables. A program may have inherited the variables, from a terminal
    /// in an AppImage for example, and the paths with them.
    static func roots(_ variables: [String: String], exists: (String) -> Bool) -> [String] {
        var roots: [String] = []
        // Others use the variable too; an AppImage has this file.
        if let root = root(variables["APPDIR"]), exists("\(root)/AppRun") { roots.append(root) }
        if let root = root(variables["SNAP"]), variables["SNAP_NAME"] != nil, variables["SNAP_REVISION"] != nil {
            roots.append(root)
        }
        return roots
    }

    /// These variables name the bundle; `xdg-open` in a snap's sandbox may need them.
    private static let marks: Set<String> = ["APPDIR", "SNAP"]

    private static func root(_ path: String?) -> String? {
        guard var path = path?[...], path.hasPrefix("/") else { return nil }
        while path.hasSuffix("/") { path.removeLast() }
        return path.isEmpty ? nil : String(path)
    }
}

/// The facts that determine the choice of a browser.
package struct LaunchEnvironment: Sendable {
    /// The variables for system programs, without the paths of this program's bundle.
    package var variables: [String: String]
    /// Whether Linux runs under Windows.
    var isWSL: Bool
    /// Whether another user became root for this program.
    var isSudo: Bool
    /// Whether the program runs in a container.
    var isContainer = false
    /// The kind of sandbox that keeps the program from other programs' options: `Flatpak`, `snap`; `nil` if there is none.
    var sandbox: String?
    /// Whether a person can be asked at a terminal.
    var isAttended = false

    package static var current: LaunchEnvironment {
        let own = SystemCall.hasRaisedRights ? [:] : ProcessInfo.processInfo.environment
        let bundles = ProgramBundle.roots(own, exists: FileManager.default.fileExists)
        let variables = ProgramBundle.environment(own, outside: bundles)
        let kernel =
            FileManager.default.contents(atPath: "/proc/version").map { String(decoding: $0, as: UTF8.self) } ?? ""
        return LaunchEnvironment(
            variables: variables,
            isWSL: variables["WSL_DISTRO_NAME"] != nil || kernel.lowercased().contains("microsoft"),
            isSudo: geteuid() == 0 && variables["SUDO_UID"] != nil,
            isContainer: variables["container"] != nil
                || ["/run/.containerenv", "/.dockerenv"].contains { FileManager.default.fileExists(atPath: $0) },
            sandbox: SystemCall.exists("/.flatpak-info") ? "Flatpak" : isInSnap(own["SNAP"]) ? "snap" : nil,
            isAttended: isatty(STDIN_FILENO) == 1 && isatty(STDERR_FILENO) == 1
        )
    }

    /// Whether the program itself is in the snap. A terminal in a snap hands its variables on.
    private static func isInSnap(_ root: String?) -> Bool {
        guard let root else { return false }
        // A program that cannot be found is none of a snap.
        return (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe"))?.hasPrefix(root + "/")
            == true
    }

    /// The display for windows; `nil` if there is none.
    var display: String? {
        if let wayland = value("WAYLAND_DISPLAY") { return "Wayland (\(wayland))" }
        if let x11 = value("DISPLAY") { return "X11 (\(x11))" }
        return isWSL ? "Windows (WSL)" : nil
    }

    /// A variable, unless it is empty.
    func value(_ name: String) -> String? {
        variables[name].flatMap { $0.isEmpty ? nil : $0 }
    }

    /// The program as an absolute path, looked up in the absolute directories of `PATH`; never in the current one.
    package func executable(_ program: String) -> String? {
        guard !program.contains("/") else {
            return program.hasPrefix("/") && Self.isExecutable(program) ? program : nil
        }
        let path = value("PATH") ?? "/usr/local/bin:/usr/bin:/bin"
        return path.split(separator: ":")
            .filter { $0.hasPrefix("/") }
            .map { "\($0)/\(program)" }
            .first(where: Self.isExecutable)
    }

    private static func isExecutable(_ path: String) -> Bool {
        var status = stat()
        guard unsafe stat(path, &status) == 0, status.st_mode & S_IFMT == S_IFREG else { return false }
        return unsafe access(path, X_OK) == 0
    }
}
