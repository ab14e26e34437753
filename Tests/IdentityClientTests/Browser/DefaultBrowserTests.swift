// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import IdentityTestSupport
import Testing

@testable import IdentityClient
@testable import SystemSupport

/// The default browser, and its private window.
@Suite struct DefaultBrowserTests {
    private let temporary: TemporaryDirectory

    init() throws { temporary = try TemporaryDirectory() }

    private func write(_ text: String, to path: String) throws {
        let url = URL(filePath: "\(temporary.path)/\(path)")
        try FileManager.default.createDirectory(at: url.deletingLastPathComponent(), withIntermediateDirectories: true)
        try Data(text.utf8).write(to: url)
    }

    private func install(_ name: String, exec: String, _ more: String = "") throws {
        try write(
            "[Desktop Action x]\nExec=wrong\n[Desktop Entry]\nName=Exec=x\nExec=\(exec)\n\(more)\n[Other]\nExec=wrong\n",
            to: "data/applications/\(name).desktop"
        )
    }

    private func environment(_ variables: [String: String] = [:]) -> LaunchEnvironment {
        let own = [
            "DISPLAY": ":0", "HOME": temporary.path, "XDG_DATA_DIRS": "relative:\(temporary.path)/data",
            "XDG_CONFIG_DIRS": "\(temporary.path)/xdg",
        ]
        return LaunchEnvironment(variables: own.merging(variables) { $1 }, isWSL: false, isSudo: false)
    }

    private func command(_ environment: LaunchEnvironment, _ command: [String]? = nil) -> [String] {
        PrivateWindow.candidates(command: command, environment: environment)
            .map { ([$0.program] + $0.arguments(for: "ADDRESS")).joined(separator: " ") }
    }

    @Test func isTheChoiceThatCountsFirst() throws {
        for name in ["firefox", "chromium", "epiphany"] { try install(name, exec: "\(name) %u") }
        try install("hidden", exec: "opera", "Hidden=true")
        #expect(DefaultBrowser(environment()).entry == nil)
        try write(
            "[MIME Cache]\nx-scheme-handler/https=epiphany.desktop;firefox.desktop;\n",
            to: "data/applications/mimeinfo.cache"
        )
        #expect(command(environment()) == ["epiphany --incognito-mode ADDRESS"])
        let own = "[Added Associations]\nx-scheme-handler/https=epiphany.desktop\n[Default Applications]\n"
        try write(
            "\(own)x-scheme-handler/http=epiphany.desktop\nx-scheme-handler/https=gone.desktop;hidden.desktop;firefox.desktop\n",
            to: ".config/mimeapps.list"
        )
        #expect(command(environment()) == ["firefox --private-window ADDRESS"])
        try write("\(own)x-scheme-handler/https = chromium.desktop;\n", to: ".config/gnome-mimeapps.list")
        #expect(command(environment(["XDG_CURRENT_DESKTOP": "ubuntu:GNOME"])) == ["chromium --incognito ADDRESS"])
        try write("\(own)x-scheme-handler/https=../../../x.desktop\n", to: ".config/kde-mimeapps.list")
        #expect(command(environment(["XDG_CURRENT_DESKTOP": "KDE"])) == ["firefox --private-window ADDRESS"])
    }

    @Test(
        arguments: [
            ("firefox-esr %u", "firefox-esr --private-window ADDRESS"),
            ("/usr/bin/google-chrome-stable %U", "/usr/bin/google-chrome-stable --incognito ADDRESS"),
            ("/usr/bin/microsoft-edge-stable %U", "/usr/bin/microsoft-edge-stable --inprivate ADDRESS"),
            (
                "env BAMF_DESKTOP_FILE_HINT=/a/b.desktop /snap/bin/firefox %u",
                "/snap/bin/firefox --private-window ADDRESS"
            ),
            (#""/opt/my browsers/brave" --x %U"#, "/opt/my browsers/brave --incognito ADDRESS"),
            (
                "/usr/bin/flatpak run --branch=stable --command=firefox --file-forwarding org.mozilla.firefox @@u %u @@",
                "/usr/bin/flatpak run --branch=stable --command=firefox org.mozilla.firefox --private-window ADDRESS"
            ),
            ("flatpak run org.example.Browser %u", nil), ("flatpak update", nil), ("konqueror %u", nil), ("", nil),
            ("sh -c firefox", nil),
        ] as [(String, String?)]
    )
    func isStartedWithItsOwnOption(_ exec: String, _ expected: String?) throws {
        try install("a", exec: exec)
        try write("[Default Applications]\nx-scheme-handler/https=a.desktop\n", to: "xdg/mimeapps.list")
        #expect(command(environment()) == [expected].compactMap(\.self))
    }

    @Test func comesAfterTheCommandsThatAreNamed() throws {
        try install("a", exec: "firefox %u")
        try write("[Default Applications]\nx-scheme-handler/https=a.desktop\n", to: "xdg/mimeapps.list")
        let named = environment(["BROWSER": "w3m:chromium %s --x:opera"])
        #expect(
            command(named, ["librewolf", "-P", "me", "--new-window"]) == [
                "librewolf -P me --private-window ADDRESS", "chromium --incognito ADDRESS --x",
                "opera --private ADDRESS",
                "firefox --private-window ADDRESS",
            ]
        )
        #expect(command(LaunchEnvironment(variables: named.variables, isWSL: false, isSudo: true), ["firefox"]).isEmpty)
    }

    /// A mark after the slash makes another character of it, and no other path.
    @Test func takesNoEntryOfAnotherDirectory() throws {
        try install("other/\u{301}a", exec: "firefox %u")
        try write("[Default Applications]\nx-scheme-handler/https=other/\u{301}a.desktop\n", to: "xdg/mimeapps.list")
        #expect(DefaultBrowser(environment()).entry == nil)
    }

    @Test func saysWhyThereIsNone() throws {
        func problem(_ environment: LaunchEnvironment, _ command: [String]? = nil) -> String {
            let desktop = InteractionEnvironment(environment, command: nil).browserProblem
            return PrivateWindow.problem(command: command, environment: environment, desktop)
        }
        #expect(problem(environment()).hasPrefix("the desktop has no default browser. Name a browser"))
        #expect(problem(environment(), ["w3m"]).hasPrefix("'w3m' is not a browser whose private window is known"))
        #expect(problem(environment(), ["/none/firefox"]) == "none of /none/firefox is an installed program")
        try install("a", exec: "konqueror %u")
        try write("[Default Applications]\nx-scheme-handler/https=a.desktop\n", to: "xdg/mimeapps.list")
        #expect(problem(environment()).contains("('a.desktop')"))
        var other = environment()
        other.sandbox = "Flatpak"
        #expect(problem(other).hasPrefix("in a Flatpak,") && command(other).isEmpty)
        other.isWSL = true
        #expect(problem(other).hasPrefix("under WSL"))
        #expect(problem(environment(["DISPLAY": ""])).contains("no graphical session"))
    }

    @Test(arguments: [
        (#"a "b c" d%%e %u"#, ["a", "b c", "d%e"]), (#""a\\"b" "" c"#, [#"a"b"#, "", "c"]), ("  ", []),
        ("\"\u{301}b c\" d", ["\u{301}b c", "d"]),
    ])
    func readsACommandAsADesktopDoes(_ exec: String, _ words: [String]) {
        #expect(DefaultBrowser.words(of: exec) == words)
    }
}
