// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import CAdwaita

/// A window with a header bar.
@MainContext
public final class Window: Widget {
    /// Creates a window, which ``present()`` shows.
    ///
    /// - Parameters:
    ///   - application: The application, which ends with its last window.
    ///   - title: The window's title, also in the desktop's overview.
    ///   - width: The initial width, in pixels.
    ///   - height: The initial height, in pixels.
    public convenience init(_ application: Application, title: String, width: Int, height: Int) {
        self.init(made: adw_application_window_new(cast(application.pointer)))
        gtk_window_set_title(pointer(), title)
        gtk_window_set_default_size(pointer(), Int32(width), Int32(height))
        Announcements.add(to: self)
    }

    /// The window's content, including the header bar.
    public var content: Widget? {
        didSet { adw_application_window_set_content(pointer(), content?.widget) }
    }

    /// Sets the name in the title bar and in the desktop's overview.
    public func setTitle(_ title: String) {
        gtk_window_set_title(pointer(), title)
    }

    /// Shows the window in front of others.
    public func present() {
        gtk_window_present(pointer())
    }

    /// Closes the window.
    public func close() {
        gtk_window_close(pointer())
    }

    /// Calls `action` when the window is closed. The window disappears at once, and the program ends after `action`.
    public func onClose(_ action: @escaping @Sendable @MainContext () async -> Void) {
        connectAnswering(widget, "close-request") { [weak self] in
            guard let self, isVisible else { return true }
            isVisible = false
            Task { @MainContext in
                await action()
                gtk_window_destroy(self.pointer())
            }
            return true
        }
    }
}

/// The bar at the top of a window, with its title and the most used buttons.
@MainContext
public final class HeaderBar: Widget {
    /// Creates a bar that shows the window's title.
    public convenience init() {
        self.init(made: adw_header_bar_new())
    }

    /// Sets whether the bar has the window's buttons, such as the close button, at each end. An adjacent bar may have
    /// them.
    public func showWindowButtons(atStart: Bool = true, atEnd: Bool = true) {
        adw_header_bar_set_show_start_title_buttons(opaque, atStart ? 1 : 0)
        adw_header_bar_set_show_end_title_buttons(opaque, atEnd ? 1 : 0)
    }

    /// Shows `widget` instead of the title.
    public func setTitle(_ widget: Widget) {
        adw_header_bar_set_title_widget(opaque, widget.widget)
    }

    /// Adds a widget on the left.
    public func add(atStart widget: Widget) {
        adw_header_bar_pack_start(opaque, widget.widget)
    }

    /// Adds a widget on the right.
    public func add(atEnd widget: Widget) {
        adw_header_bar_pack_end(opaque, widget.widget)
    }
}
