// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Glibc

/// The facts that determine the choice of a browser.
package struct LaunchEnvironment: Sendable {
    /// The variables for system programs, without the paths of this program's bundle.
    package var variables: [String: String]
    /// Whether Linux runs under Windows.
    package var isWSL: Bool
    /// Whether another user became root for this program.
    package var isSudo: Bool
    /// Whether the program runs in a container.
    package var isContainer = false
    /// The kind of sandbox that keeps the program from other programs' options: `Flatpak`, `snap`; `nil` if there is none.
    package var sandbox: String?
    /// Whether a person can be asked at a terminal.
    package var isAttended = false

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
    package var display: String? {
        if let wayland = value("WAYLAND_DISPLAY") { return "Wayland (\(wayland))" }
        if let x11 = value("DISPLAY") { return "X11 (\(x11))" }
        return isWSL ? "Windows (WSL)" : nil
    }

    /// A variable, unless it is empty.
    package func value(_ name: String) -> String? {
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
