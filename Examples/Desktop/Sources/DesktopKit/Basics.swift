// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import CAdwaita

/// A row or column of widgets.
@MainContext
public final class Box: Widget {
    /// Creates a column, from top to bottom.
    public static func column(spacing: Int = 0, _ children: Widget...) -> Box {
        Box(GTK_ORIENTATION_VERTICAL, spacing, children)
    }

    /// Creates a row, in reading direction.
    public static func row(spacing: Int = 0, _ children: Widget...) -> Box {
        Box(GTK_ORIENTATION_HORIZONTAL, spacing, children)
    }

    /// Creates a column of any number of widgets.
    public static func column(spacing: Int = 0, _ children: [Widget]) -> Box {
        Box(GTK_ORIENTATION_VERTICAL, spacing, children)
    }

    private convenience init(_ orientation: GtkOrientation, _ spacing: Int, _ children: [Widget]) {
        self.init(made: gtk_box_new(orientation, Int32(spacing)))
        for child in children { append(child) }
    }

    /// Adds a widget at the end.
    public func append(_ child: Widget) {
        gtk_box_append(pointer(), child.widget)
    }

    /// Removes all widgets, and adds these.
    func replace(with children: [Widget]) {
        while let child = gtk_widget_get_first_child(widget) { gtk_box_remove(pointer(), child) }
        for child in children { append(child) }
    }
}

/// Widgets in a row, or in several rows if one row has no room.
///
/// In each there must be something that takes the keyboard focus: at a cell that can be used and takes no focus, the Tab key
/// stops for good. A text takes it if it can be selected.
@MainContext
public final class FlowBox: Widget {
    /// Creates a row, in reading direction.
    public convenience init(spacing: Int, _ children: Widget...) {
        self.init(made: gtk_flow_box_new())
        gtk_flow_box_set_selection_mode(opaque, GTK_SELECTION_NONE)
        gtk_flow_box_set_max_children_per_line(opaque, UInt32(children.count))
        gtk_flow_box_set_column_spacing(opaque, UInt32(spacing))
        gtk_flow_box_set_row_spacing(opaque, UInt32(spacing))
        for (index, child) in children.enumerated() {
            gtk_flow_box_insert(opaque, child.widget, -1)
            // The focus goes to the widget itself, not to the cell around it.
            if let cell = gtk_flow_box_get_child_at_index(opaque, Int32(index)) {
                gtk_widget_set_focusable(cast(cell), 0)
                let cell = UnsafeMutableRawPointer(cell)
                g_object_bind_property(child.widget, "sensitive", cell, "sensitive", G_BINDING_SYNC_CREATE)
            }
        }
    }
}

/// A text label.
@MainContext
public final class Label: Widget {
    /// Creates a label that wraps long text.
    public convenience init(_ text: String = "") {
        self.init(made: gtk_label_new(text))
        gtk_label_set_xalign(opaque, 0)
        gtk_label_set_wrap(opaque, 1)
        gtk_label_set_wrap_mode(opaque, PANGO_WRAP_WORD_CHAR)
    }

    /// The text.
    public var text: String {
        get { String(cString: gtk_label_get_text(opaque)) }
        set { gtk_label_set_text(opaque, newValue) }
    }

    /// Keeps the text on one line, in the middle of a header bar, and shortens it with an ellipsis if there is not enough
    /// room.
    public func inHeader() -> Self {
        gtk_label_set_wrap(opaque, 0)
        gtk_label_set_ellipsize(opaque, PANGO_ELLIPSIZE_END)
        return aligned(horizontally: .center)
    }

    /// Lets people select and copy the text.
    public func selectable() -> Self {
        gtk_label_set_selectable(opaque, 1)
        return self
    }
}

/// A button.
@MainContext
public final class Button: Widget {
    /// Creates a button with a text; an underscore precedes the letter that works with Alt.
    public convenience init(_ text: String, _ action: @escaping @MainContext () -> Void) {
        self.init(made: gtk_button_new_with_mnemonic(text))
        adjustLabel()
        connect(widget, "clicked", action)
    }

    /// Creates a button with an icon from the desktop's icon theme.
    public convenience init(icon: String, hint: String, _ action: @escaping @MainContext () -> Void) {
        self.init(made: gtk_button_new())
        gtk_button_set_child(pointer(), kit_icon_new(icon))
        styled("image-button")
        self.hint(hint)
        connect(widget, "clicked", action)
    }

    /// Creates a button for an action added by `Application.addAction`; it is grayed out while the action cannot be
    /// chosen.
    public convenience init(_ text: String, action: String) {
        self.init(made: gtk_button_new_with_mnemonic(text))
        adjustLabel()
        gtk_actionable_set_action_name(opaque, "app.\(action)")
    }

    /// Sets the text.
    public func setText(_ text: String) {
        gtk_button_set_label(pointer(), text)
        adjustLabel()
    }

    /// Wraps a label for which there is not enough room, and removes its mnemonic: GTK 4.8 reads the text with the
    /// underscore to a screen reader, and then the label's text, which is enough.
    private func adjustLabel() {
        gtk_accessible_reset_property(opaque, GTK_ACCESSIBLE_PROPERTY_LABEL)
        guard let label = gtk_button_get_child(pointer()).map({ OpaquePointer($0) }) else { return }
        gtk_label_set_wrap(label, 1)
        gtk_label_set_justify(label, GTK_JUSTIFY_CENTER)
    }
}
