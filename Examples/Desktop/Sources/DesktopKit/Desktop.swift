// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import CAdwaita

/// The desktop around the program.
@MainContext
public enum Desktop {
    /// Puts a text on the clipboard.
    public static func copy(_ text: String) {
        guard let display = gdk_display_get_default() else { return }
        gdk_clipboard_set_text(gdk_display_get_clipboard(display), text)
    }

    /// Shows a message over the program's active window until the person closes it.
    ///
    /// - Parameter application: The application, which keeps running until then even without a window.
    static func tell(_ title: String, _ text: String, in application: Application? = nil) {
        let active = g_application_get_default().flatMap { gtk_application_get_active_window(cast($0)) }
        guard let dialog = adw_message_dialog_new(active, title, text) else { return }
        adw_message_dialog_add_response(cast(dialog), "close", tr("_Close"))
        if let application { gtk_application_add_window(cast(application.pointer), cast(dialog)) }
        gtk_window_present(cast(dialog))
    }

    /// The desktop's name for the program that opens web pages; `nil` if none is set.
    public static var browserName: String? {
        guard let browser = g_app_info_get_default_for_uri_scheme("https") else { return nil }
        defer { g_object_unref(UnsafeMutableRawPointer(browser)) }
        return g_app_info_get_display_name(browser).map { String(cString: $0) }
    }

    /// The kind and the name of the display that shows the windows.
    public static var displayName: String? {
        guard let display = gdk_display_get_default() else { return nil }
        let kind = kit_type_name(UnsafeMutableRawPointer(display))
        let name = gdk_display_get_name(display).map { String(cString: $0) } ?? ""
        return kind.map { String(cString: $0).contains("Wayland") ? "Wayland (\(name))" : "X11 (\(name))" } ?? name
    }
}
