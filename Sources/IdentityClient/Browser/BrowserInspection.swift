// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

/// What there is to open a browser with; nothing is started to find out.
package struct BrowserInspection: Sendable {
    /// The programs that would be tried, as absolute paths, the first one first.
    package let programs: [String]
    /// Why nothing can be opened, or `nil` when something can be tried.
    package let problem: String?
    /// The display that windows are shown on, or `nil` where there is none.
    package let display: String?

    /// Looks around.
    /// - Parameter command: A program and its arguments, tried first.
    package init(command: [String]?) {
        self.init(command: command, environment: .current)
    }

    init(command: [String]?, environment: LaunchEnvironment) {
        let candidates = BrowserCommand.candidates(command: command, environment: environment)
        programs = environment.isSudo ? [] : candidates.compactMap { environment.executable($0.program) }
        let reason = environment.isSudo ? "a browser is not started under sudo" : environment.reason(for: candidates)
        problem = programs.isEmpty ? reason : nil
        display =
            if let wayland = environment.value("WAYLAND_DISPLAY") {
                "Wayland (\(wayland))"
            } else if let x11 = environment.value("DISPLAY") {
                "X11 (\(x11))"
            } else {
                environment.isWSL ? "Windows (WSL)" : nil
            }
    }
}
