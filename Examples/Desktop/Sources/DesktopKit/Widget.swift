// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import CAdwaita

/// A widget in a window. The object retains its widget; the widget may outlive it in its container.
@MainContext
public class Widget {
    let widget: UnsafeMutablePointer<GtkWidget>

    init(_ widget: UnsafeMutablePointer<GtkWidget>) {
        self.widget = widget
        g_object_ref_sink(widget)
    }

    /// Wraps the result of a GTK constructor, which is declared optional but is never `nil`.
    convenience init(made widget: UnsafeMutablePointer<GtkWidget>?) {
        guard let widget else { preconditionFailure("GTK made no widget.") }
        self.init(widget)
    }

    isolated deinit {
        g_object_unref(widget)
    }

    var opaque: OpaquePointer { OpaquePointer(widget) }

    /// The widget's pointer as a type whose layout Swift knows.
    func pointer<Kind>() -> UnsafeMutablePointer<Kind> { cast(widget) }

    /// Whether the widget is shown.
    public var isVisible: Bool {
        get { gtk_widget_get_visible(widget) != 0 }
        set { gtk_widget_set_visible(widget, newValue ? 1 : 0) }
    }

    /// Whether the widget can be used or is grayed out.
    public var isSensitive: Bool {
        get { gtk_widget_get_sensitive(widget) != 0 }
        set { gtk_widget_set_sensitive(widget, newValue ? 1 : 0) }
    }

    /// Tells a screen reader whether the content is about to change.
    public func setBusy(_ isBusy: Bool) {
        kit_set_accessible_busy(widget, isBusy ? 1 : 0)
    }

    /// Shows the widget's window, in front of other windows if the desktop allows it.
    public func presentWindow() {
        if let window = gtk_widget_get_root(widget) { gtk_window_present(UnsafeMutablePointer(window)) }
    }

    /// Moves the keyboard focus to the widget.
    public func focus() {
        gtk_widget_grab_focus(widget)
    }
}

/// The position of a widget in its available space.
public enum Alignment: Sendable {
    case start, center, end

    var value: GtkAlign {
        switch self {
        case .start: GTK_ALIGN_START
        case .center: GTK_ALIGN_CENTER
        case .end: GTK_ALIGN_END
        }
    }
}

// Settings for building a window. Each returns the widget.
extension Widget {
    /// Adds classes of libadwaita's style sheet, for example `suggested-action`.
    @discardableResult
    public func styled(_ classes: String...) -> Self {
        for name in classes { gtk_widget_add_css_class(widget, name) }
        return self
    }

    /// Sets the margins, in pixels.
    @discardableResult
    public func margin(horizontal: Int = 0, vertical: Int = 0) -> Self {
        gtk_widget_set_margin_start(widget, Int32(horizontal))
        gtk_widget_set_margin_end(widget, Int32(horizontal))
        gtk_widget_set_margin_top(widget, Int32(vertical))
        gtk_widget_set_margin_bottom(widget, Int32(vertical))
        return self
    }

    /// Lets the widget take the remaining space.
    @discardableResult
    public func expanding(horizontally: Bool = true, vertically: Bool = false) -> Self {
        gtk_widget_set_hexpand(widget, horizontally ? 1 : 0)
        gtk_widget_set_vexpand(widget, vertically ? 1 : 0)
        return self
    }

    /// Aligns the widget in its available space instead of filling it.
    @discardableResult
    public func aligned(horizontally: Alignment? = nil, vertically: Alignment? = nil) -> Self {
        if let horizontally { gtk_widget_set_halign(widget, horizontally.value) }
        if let vertically { gtk_widget_set_valign(widget, vertically.value) }
        return self
    }

    /// Sets the tooltip, which is also the accessible name.
    @discardableResult
    public func hint(_ text: String) -> Self {
        gtk_widget_set_tooltip_text(widget, text)
        return named(text)
    }

    /// Sets the accessible name for screen readers.
    @discardableResult
    public func named(_ name: String) -> Self {
        kit_set_accessible_label(widget, name)
        return self
    }

    /// Sets the minimum size, in pixels; -1 means as small as possible.
    @discardableResult
    public func sized(width: Int = -1, height: Int = -1) -> Self {
        gtk_widget_set_size_request(widget, Int32(width), Int32(height))
        return self
    }
}
