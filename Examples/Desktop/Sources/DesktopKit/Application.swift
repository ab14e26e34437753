// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import CAdwaita
import Foundation
// The programs touch widgets, too.
@_exported public import IdentityGLib

/// A GTK program: its main loop, its actions and their keys.
@MainContext
public final class Application {
    let pointer: UnsafeMutablePointer<AdwApplication>
    /// The shortcuts with a title, in the order in which they were added.
    private(set) var shortcuts: [Shortcut] = []

    private init(id: String, isStandalone: Bool) {
        let unique = isStandalone ? G_APPLICATION_NON_UNIQUE.rawValue : 0
        pointer = adw_application_new(id, GApplicationFlags(unique | G_APPLICATION_HANDLES_OPEN.rawValue))
    }

    /// Runs a program until its last window is closed. Call it on the process's first thread.
    ///
    /// If the program is already running in the session, its window is raised instead, or it gets the redirect, unless
    /// the options ask for a standalone program.
    ///
    /// - Parameters:
    ///   - id: The program's name on the bus and for the desktop, for example `org.example.Mail`.
    ///   - name: The name that people see.
    ///   - options: The options. A redirect is handed to this user's process that waits for it, and no window is opened.
    ///   - start: Opens the first window; its result is kept until the end.
    /// - Returns: The exit status: 1 if the process had nothing to do but to deliver a redirect, for which no process was
    ///   waiting.
    public nonisolated static func run(
        id: String,
        name: String,
        options: ProgramOptions,
        start: @escaping @MainContext (Application) -> AnyObject
    ) -> Int32 {
        g_main_context_acquire(g_main_context_default())
        defer { g_main_context_release(g_main_context_default()) }
        return MainContext.assumeIsolated {
            Translation.begin()
            g_set_prgname(id)
            g_set_application_name(name)
            return Application(id: id, isStandalone: options.standalone).run(opening: options.redirect, start)
        }
    }

    private func run(
        opening address: String?,
        _ start: @escaping @MainContext (Application) -> AnyObject
    ) -> Int32 {
        let program = Holder()
        connect(pointer, "activate") { [unowned self] in
            if program.object != nil, raiseWindow() { return }
            shortcuts = []
            program.object = start(self)
        }
        let delivery = RedirectDelivery(self)
        delivery.connect()
        // GLib takes the first word as the program's name and the other words as addresses to open.
        var words = ([g_get_prgname().map { String(cString: $0) } ?? ""] + [address].compactMap { $0 }).map {
            strdup($0)
        }
        defer { for word in words { free(word) } }
        warnIfRunning(opening: address)
        let status = g_application_run(cast(pointer), Int32(words.count), &words)
        let isDelivery = program.object == nil
        program.object = nil
        g_object_unref(pointer)
        return status == 0 && isDelivery ? delivery.status : status
    }

    /// Brings the program's window to the front, unless it is being closed.
    private func raiseWindow() -> Bool {
        guard let window = gtk_application_get_active_window(cast(pointer)),
            gtk_widget_get_visible(cast(window)) != 0
        else { return false }
        gtk_window_present(window)
        return true
    }

    /// Says in the terminal that a running program ignores the options of this start.
    private func warnIfRunning(opening address: String?) {
        guard g_application_register(cast(pointer), nil, nil) != 0, address == nil,
            g_application_get_is_remote(cast(pointer)) != 0, CommandLine.arguments.count > 1
        else { return }
        let text = "The program is running already, with its own options. To start another one, add --standalone.\n"
        FileHandle.standardError.write(Data(text.utf8))
    }

    /// Ends the main loop.
    public func quit() {
        g_application_quit(cast(pointer))
    }

    /// Makes the action `app.NAME` available to menus, buttons and keys.
    ///
    /// - Parameters:
    ///   - name: The action's name.
    ///   - keys: Its accelerators in GTK's syntax, for example `<Control>q`.
    ///   - title: Its title in the window that lists all keys; an action without a title is not listed.
    ///   - action: The code to run.
    public func addAction(
        _ name: String,
        keys: [String] = [],
        title: String? = nil,
        _ action: @escaping @MainContext () -> Void
    ) {
        let simple = g_simple_action_new(name, nil)
        connect(simple.map(UnsafeMutableRawPointer.init), "activate", action)
        g_action_map_add_action(OpaquePointer(pointer), simple)
        release(simple)
        setKeys(keys, forAction: "app.\(name)", title: title)
    }

    /// Sets whether an action can be chosen.
    public func setAction(_ name: String, isEnabled: Bool) {
        kit_set_action_enabled(OpaquePointer(pointer), name, isEnabled ? 1 : 0)
    }

    /// Sets the accelerators of any action, such as `win.close`.
    public func setKeys(_ keys: [String], forAction action: String, title: String? = nil) {
        guard !keys.isEmpty else { return }
        if let title { shortcuts.append(Shortcut(title: title, keys: keys)) }
        var words: [UnsafePointer<CChar>?] = keys.map { UnsafePointer(strdup($0)) } + [nil]
        gtk_application_set_accels_for_action(cast(pointer), action, &words)
        for word in words { free(UnsafeMutablePointer(mutating: word)) }
    }

    private final class Holder {
        var object: AnyObject?
    }
}
