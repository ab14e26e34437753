// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

/// Browsers that open an address in a private window, and their option for it.
package enum PrivateWindow {
    /// The options by the names of programs, without the endings of their channels.
    private static let options: [String: String] = [
        "firefox": "--private-window", "librewolf": "--private-window", "waterfox": "--private-window",
        "chromium": "--incognito", "chromium-browser": "--incognito", "google-chrome": "--incognito",
        "chrome": "--incognito", "brave": "--incognito", "brave-browser": "--incognito", "vivaldi": "--incognito",
        "microsoft-edge": "--inprivate", "msedge": "--inprivate", "opera": "--private",
        "epiphany": "--incognito-mode", "epiphany-browser": "--incognito-mode",
        // Flatpak's identifiers.
        "org.mozilla.firefox": "--private-window", "io.gitlab.librewolf-community": "--private-window",
        "org.chromium.Chromium": "--incognito", "com.google.Chrome": "--incognito", "com.brave.Browser": "--incognito",
        "com.vivaldi.Vivaldi": "--incognito", "com.microsoft.Edge": "--inprivate", "com.opera.Opera": "--private",
        "org.gnome.Epiphany": "--incognito-mode",
    ]

    private static let channels = [
        "-stable", "-beta", "-dev", "-unstable", "-nightly", "-esr", "-developer-edition", ".exe",
    ]

    /// Options of a command that open another window or take the address for themselves.
    private static let otherWindows: Set = [
        "--new-window", "-new-window", "--new-tab", "-new-tab", "--url", "-url",
    ]

    /// Returns a command that opens an address in a private window; `nil` if it starts no known browser.
    static func command(for command: BrowserCommand) -> BrowserCommand? {
        var result = command
        var name = command.program.split(separator: "/").last.map(String.init) ?? ""
        if name == "flatpak" {
            // What stands behind the identifier is for the browser: `@@u %u @@`.
            guard command.arguments.first == "run",
                let index = command.arguments.dropFirst().firstIndex(where: { !$0.hasPrefix("-") })
            else { return nil }
            name = command.arguments[index]
            result.arguments = command.arguments[...index].filter { $0 != "--file-forwarding" }
            result.substitutes = false
        } else if let channel = channels.first(where: name.hasSuffix) {
            name.removeLast(channel.count)
        }
        guard let option = options[name] else { return nil }
        result.arguments.removeAll(where: otherWindows.contains)
        let place = result.substitutes ? result.arguments.firstIndex { $0.contains("%s") } : nil
        result.arguments.insert(option, at: place ?? result.arguments.endIndex)
        return result
    }

    /// The commands to try, in order: the given command, those of `$BROWSER`, and the desktop's default browser.
    package static func candidates(command: [String]?, environment: LaunchEnvironment) -> [BrowserCommand] {
        var candidates = BrowserCommand.named(command: command, environment: environment)
        if canUseDefault(environment), let found = DefaultBrowser(environment).command { candidates.append(found) }
        return candidates.compactMap(self.command)
    }

    /// Windows' browser, and one outside of a sandbox, can be given an address but no option.
    private static func canUseDefault(_ environment: LaunchEnvironment) -> Bool {
        !environment.isSudo && environment.display != nil && !environment.isWSL && environment.sandbox == nil
    }

    /// Says why no private window can be opened, in words that fit into a sentence.
    ///
    /// - Parameter desktopProblem: The reason why no window can be opened at all, if there is one.
    package static func problem(
        command: [String]?,
        environment: LaunchEnvironment,
        _ desktopProblem: String?
    ) -> String {
        if environment.isSudo || environment.display == nil, let desktopProblem { return desktopProblem }
        let known = candidates(command: command, environment: environment).map(\.program)
        guard known.isEmpty else { return "none of \(known.joined(separator: ", ")) is an installed program" }
        let advice = "Name a browser that has one, such as firefox or chromium, or use an ordinary window"
        if environment.isWSL { return "under WSL, Windows' browser can be given no option. \(advice)" }
        if let sandbox = environment.sandbox {
            return "in a \(sandbox), the browser can be given no option. Use an ordinary window"
        }
        if let given = command?.first { return "'\(given)' is not a browser whose private window is known. \(advice)" }
        guard let name = DefaultBrowser(environment).entry else {
            return "the desktop has no default browser. \(advice)"
        }
        return "the default browser ('\(name)') is not one whose private window is known. \(advice)"
    }
}
