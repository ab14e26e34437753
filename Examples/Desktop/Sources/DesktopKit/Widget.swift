// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import CAdwaita

/// Anything that is shown in a window. The object keeps its widget; the widget may outlive it in its container.
@MainContext
public class Widget {
    let widget: UnsafeMutablePointer<GtkWidget>

    init(_ widget: UnsafeMutablePointer<GtkWidget>) {
        self.widget = widget
        g_object_ref_sink(widget)
    }

    /// For the constructors, all of which say that they may give nothing, and never do.
    convenience init(made widget: UnsafeMutablePointer<GtkWidget>?) {
        guard let widget else { preconditionFailure("GTK made no widget.") }
        self.init(widget)
    }

    isolated deinit {
        g_object_unref(widget)
    }

    var opaque: OpaquePointer { OpaquePointer(widget) }

    /// The widget as a type that Swift sees the inside of.
    func pointer<Kind>() -> UnsafeMutablePointer<Kind> { cast(widget) }

    /// Whether it is shown.
    public var isVisible: Bool {
        get { gtk_widget_get_visible(widget) != 0 }
        set { gtk_widget_set_visible(widget, newValue ? 1 : 0) }
    }

    /// Whether it can be used, or is greyed out.
    public var isSensitive: Bool {
        get { gtk_widget_get_sensitive(widget) != 0 }
        set { gtk_widget_set_sensitive(widget, newValue ? 1 : 0) }
    }

    /// Tells a screen reader whether what is in it is about to change.
    public func setBusy(_ isBusy: Bool) {
        kit_set_accessible_busy(widget, isBusy ? 1 : 0)
    }

    /// Shows the window that it is in, in front of others as far as the desktop lets it.
    public func presentWindow() {
        if let window = gtk_widget_get_root(widget) { gtk_window_present(UnsafeMutablePointer(window)) }
    }

    /// Moves the keyboard's focus here.
    public func focus() {
        gtk_widget_grab_focus(widget)
    }
}

/// Where a widget is in the room that it is given.
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

// What is set once, when a window is built: each gives the widget back.
extension Widget {
    /// Adds classes of libadwaita's style sheet, for example `suggested-action`.
    @discardableResult
    public func styled(_ classes: String...) -> Self {
        for name in classes { gtk_widget_add_css_class(widget, name) }
        return self
    }

    /// Sets the space around it, in pixels.
    @discardableResult
    public func margin(horizontal: Int = 0, vertical: Int = 0) -> Self {
        gtk_widget_set_margin_start(widget, Int32(horizontal))
        gtk_widget_set_margin_end(widget, Int32(horizontal))
        gtk_widget_set_margin_top(widget, Int32(vertical))
        gtk_widget_set_margin_bottom(widget, Int32(vertical))
        return self
    }

    /// Lets it take the room that is left.
    @discardableResult
    public func expanding(horizontally: Bool = true, vertically: Bool = false) -> Self {
        gtk_widget_set_hexpand(widget, horizontally ? 1 : 0)
        gtk_widget_set_vexpand(widget, vertically ? 1 : 0)
        return self
    }

    /// Aligns it in the room that it is given, instead of filling it.
    @discardableResult
    public func aligned(horizontally: Alignment? = nil, vertically: Alignment? = nil) -> Self {
        if let horizontally { gtk_widget_set_halign(widget, horizontally.value) }
        if let vertically { gtk_widget_set_valign(widget, vertically.value) }
        return self
    }

    /// Sets the text that appears when the pointer rests on it; also its accessible name.
    @discardableResult
    public func hint(_ text: String) -> Self {
        gtk_widget_set_tooltip_text(widget, text)
        return named(text)
    }

    /// Sets what a screen reader calls it.
    @discardableResult
    public func named(_ name: String) -> Self {
        kit_set_accessible_label(widget, name)
        return self
    }

    /// Sets the least size, in pixels; -1 is as small as can be.
    @discardableResult
    public func sized(width: Int = -1, height: Int = -1) -> Self {
        gtk_widget_set_size_request(widget, Int32(width), Int32(height))
        return self
    }
}
