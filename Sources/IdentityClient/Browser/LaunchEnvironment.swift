// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Glibc

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
