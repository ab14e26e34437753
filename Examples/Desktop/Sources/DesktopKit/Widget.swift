// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import CAdwaita

/// A widget in a window. The object retains its widget; the widget may outlive it in its container.
@MainContext
public class Widget {
    let widget: UnsafeMutablePointer<GtkWidget>
    /// Called before the widget takes the focus that it waits for.
    private var takesFocus: (@MainContext (_ previous: Widget?) -> Void)?
    private var hearsMapping = false

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

    /// Moves the keyboard focus to the widget when it is on display. GTK 4.8 tells a screen reader nothing of a focus that
    /// came before.
    ///
    /// - Parameter before: Called just before, with the widget that has the focus then.
    public func focusWhenShown(before: @escaping @MainContext (_ previous: Widget?) -> Void = { _ in }) {
        takesFocus = before
        if !hearsMapping { connect(widget, "map") { [weak self] in self?.focusWhenDrawn() } }
        hearsMapping = true
        focusWhenDrawn()
    }

    /// The widget of this window that has the keyboard focus.
    var focusInWindow: Widget? {
        gtk_widget_get_root(widget).flatMap { gtk_root_get_focus($0) }.map { Widget($0) }
    }

    /// Whether people type into the widget.
    var isEditable: Bool { kit_is_editable(widget) != 0 }

    /// Whether `other` is this widget, or inside it.
    func isAround(_ other: Widget) -> Bool {
        other.widget == widget || gtk_widget_is_ancestor(other.widget, widget) != 0
    }

    /// Takes back ``focusWhenShown()``.
    func keepFocusAway() {
        takesFocus = nil
    }

    private func focusWhenDrawn() {
        // Kept until then: nothing else may refer to a widget that has had the focus.
        MainContext.perform(whenIdle: true) { [self] in
            guard let takesFocus, gtk_widget_get_mapped(widget) != 0 else { return }
            self.takesFocus = nil
            let focused = focusInWindow
            if let focused, isAround(focused) { return }
            takesFocus(focused)
            focus()
        }
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

    /// Adds or removes a class of libadwaita's style sheet.
    public func setStyled(_ name: String, _ isStyled: Bool) {
        if isStyled { gtk_widget_add_css_class(widget, name) } else { gtk_widget_remove_css_class(widget, name) }
    }

    /// Sets the tooltip, which is also the accessible name.
    @discardableResult
    public func hint(_ text: String) -> Self {
        gtk_widget_set_tooltip_text(widget, text)
        // GTK makes the tooltip the description as well, and a screen reader would say it twice.
        return named(text).described("")
    }

    /// Sets the accessible name for screen readers.
    @discardableResult
    public func named(_ name: String) -> Self {
        kit_set_accessible_label(widget, name)
        return self
    }

    /// Sets the text that a screen reader says after the name.
    @discardableResult
    public func described(_ text: String) -> Self {
        kit_describe(widget, text)
        return self
    }

    /// Sets the minimum size, in pixels; -1 means as small as possible.
    @discardableResult
    public func sized(width: Int = -1, height: Int = -1) -> Self {
        gtk_widget_set_size_request(widget, Int32(width), Int32(height))
        return self
    }
}
