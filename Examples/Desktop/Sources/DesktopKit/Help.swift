// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import CAdwaita

/// A keyboard shortcut of a program, and its effect.
struct Shortcut {
    /// The effect in a few words.
    let title: String
    /// The accelerators in GTK's syntax; each of them works.
    let keys: [String]
}

extension Application {
    /// Adds the actions that every program has at the end of its menu, after its own: a window with the keys (Ctrl+?),
    /// a window about the program, and the ways to close it.
    ///
    /// - Parameters:
    ///   - window: The program's window.
    ///   - summary: The program's purpose, in a sentence.
    public func addClosing(_ window: Window, summary: String) {
        addAction("shortcuts", keys: ["<Control>question"], title: tr("Show the Keys")) { [weak self, weak window] in
            guard let self, let window else { return }
            ShortcutsWindow.show(shortcuts, over: window)
        }
        addAction("about") { [weak window] in
            if let window { Self.showAbout(summary, over: window) }
        }
        setKeys(["<Control>w"], forAction: "window.close", title: tr("Close the Window"))
        addAction("quit", keys: ["<Control>q"], title: tr("Quit")) { [weak window] in window?.close() }
    }

    private static func showAbout(_ summary: String, over window: Window) {
        let about = adw_about_window_new()
        let pointer = OpaquePointer(about)
        adw_about_window_set_application_name(pointer, g_get_application_name())
        adw_about_window_set_application_icon(pointer, icon)
        adw_about_window_set_developer_name(pointer, tr("An example of swift-identity-client"))
        adw_about_window_set_comments(pointer, summary)
        adw_about_window_set_version(pointer, About.version)
        adw_about_window_set_website(pointer, About.website)
        adw_about_window_set_issue_url(pointer, "\(About.website)/issues")
        adw_about_window_set_license_type(pointer, GTK_LICENSE_APACHE_2_0)
        present(about, over: window)
    }

    /// The program's icon, or a general one if the program is not installed.
    private static var icon: String {
        let id = g_get_prgname().map { String(cString: $0) } ?? ""
        let theme = gtk_icon_theme_get_for_display(gdk_display_get_default())
        return gtk_icon_theme_has_icon(theme, id) != 0 ? id : "application-x-executable"
    }

    fileprivate static func present(_ dialog: UnsafeMutablePointer<GtkWidget>?, over window: Window) {
        guard let dialog else { return }
        gtk_window_set_transient_for(cast(dialog), window.pointer())
        gtk_window_set_modal(cast(dialog), 1)
        gtk_window_present(cast(dialog))
    }
}

/// The programs' version and addresses. The metadata for software centers, in `share/metainfo`, has the same.
enum About {
    static let version = "0.9.0"
    static let website = "https://git.example/swift-identity-client"
}

extension MenuButton.Item {
    /// The lines of a primary menu for the actions that `Application.addClosing` adds.
    public static var closing: [MenuButton.Item] {
        [
            .action(tr("_Keyboard Shortcuts"), "shortcuts"),
            .action(tr("_About {0}", g_get_application_name().map { String(cString: $0) } ?? ""), "about"),
        ]
    }
}

/// GTK's window with all keys. Before GTK 4.14 it can only be described, not built.
@MainContext
enum ShortcutsWindow {
    fileprivate static func show(_ shortcuts: [Shortcut], over window: Window) {
        let builder = gtk_builder_new_from_string(description(of: shortcuts), -1)
        if let dialog = gtk_builder_get_object(builder, "shortcuts") {
            gtk_window_set_title(cast(dialog), tr("Keyboard Shortcuts"))
            Application.present(cast(dialog), over: window)
        }
        release(builder)
    }

    /// Returns the window's description for GtkBuilder.
    nonisolated static func description(of shortcuts: [Shortcut]) -> String {
        let lines = shortcuts.map { shortcut in
            """
            <child><object class="GtkShortcutsShortcut">\
            <property name="accelerator">\(escaped(shortcut.keys.joined(separator: " ")))</property>\
            <property name="title">\(escaped(shortcut.title))</property></object></child>
            """
        }
        return """
            <interface><object class="GtkShortcutsWindow" id="shortcuts"><child>\
            <object class="GtkShortcutsSection"><child><object class="GtkShortcutsGroup">
            \(lines.joined(separator: "\n"))
            </object></child></object></child></object></interface>
            """
    }

    private nonisolated static func escaped(_ text: String) -> String {
        guard let escaped = g_markup_escape_text(text, -1) else { return "" }
        defer { g_free(escaped) }
        return String(cString: escaped)
    }
}
