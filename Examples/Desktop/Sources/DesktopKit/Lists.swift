// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import CAdwaita

/// A vertical list of rows.
@MainContext
public final class ListBox: Widget {
    private var rows: [Row] = []

    /// The look and behavior of a list.
    public enum Style: Sendable {
        /// A list at the side of a window: one row is selected, and its details are shown elsewhere.
        case sidebar
        /// A frame with round corners; no row is selected.
        case boxed
    }

    /// Creates an empty list with a name for screen readers.
    public convenience init(_ style: Style, name: String) {
        self.init(made: gtk_list_box_new())
        named(name)
        leaveWithTab()
        switch style {
        case .sidebar:
            styled("navigation-sidebar")
            gtk_list_box_set_selection_mode(opaque, GTK_SELECTION_SINGLE)
        case .boxed:
            styled("boxed-list")
            gtk_list_box_set_selection_mode(opaque, GTK_SELECTION_NONE)
        }
    }

    /// Makes the list one stop of the Tab key, and the buttons of the row with the focus the next ones. GTK 4.8 stops at
    /// each row; here, the arrow keys move between rows.
    private func leaveWithTab() {
        let controller = gtk_shortcut_controller_new()
        let keys = [
            (GDK_KEY_Tab, GdkModifierType(0), GTK_DIR_TAB_FORWARD),
            (GDK_KEY_KP_Tab, GdkModifierType(0), GTK_DIR_TAB_FORWARD),
            (GDK_KEY_Tab, GDK_SHIFT_MASK, GTK_DIR_TAB_BACKWARD), (GDK_KEY_KP_Tab, GDK_SHIFT_MASK, GTK_DIR_TAB_BACKWARD),
        ]
        for (key, modifiers, direction) in keys {
            let leave = gtk_callback_action_new(
                { list, _, direction in
                    guard let list, let window = gtk_widget_get_root(list) else { return 0 }
                    let direction = GtkDirectionType(rawValue: UInt32(UInt(bitPattern: direction)))
                    if let row = gtk_widget_get_focus_child(list), gtk_widget_child_focus(row, direction) != 0 {
                        return 1
                    }
                    gtk_widget_set_can_focus(list, 0)
                    let isLeft = gtk_widget_child_focus(UnsafeMutablePointer<GtkWidget>(window), direction)
                    gtk_widget_set_can_focus(list, 1)
                    return isLeft
                },
                UnsafeMutableRawPointer(bitPattern: UInt(direction.rawValue)),
                nil
            )
            let shortcut = gtk_shortcut_new(gtk_keyval_trigger_new(UInt32(key), modifiers), leave)
            gtk_shortcut_controller_add_shortcut(controller, shortcut)
        }
        gtk_widget_add_controller(widget, controller)
    }

    /// Adds a row at the end.
    public func append(_ row: Row) {
        rows.append(row)
        gtk_list_box_append(opaque, row.widget)
    }

    /// Removes a row.
    public func remove(_ row: Row) {
        rows.removeAll { $0 === row }
        gtk_list_box_remove(opaque, row.widget)
    }

    /// Removes all rows.
    public func removeAll() {
        for row in rows { gtk_list_box_remove(opaque, row.widget) }
        rows = []
    }

    /// Clears the selection.
    public func unselect() {
        gtk_list_box_unselect_all(opaque)
    }

    /// Calls `action` with the number of the row that was clicked or activated with Return.
    public func onActivation(_ action: @escaping @MainContext (Int) -> Void) {
        connect(widget, "row-activated") { [weak self] in
            // The signal's row is the selected row or the row with the focus.
            guard let self, let number = activatedRow else { return }
            action(number)
        }
    }

    private var activatedRow: Int? {
        if let selected = gtk_list_box_get_selected_row(opaque) {
            return Int(gtk_list_box_row_get_index(selected))
        }
        return focusedRow
    }

    /// The number of the row that has the keyboard focus, itself or inside it.
    public var focusedRow: Int? {
        rows.firstIndex { row in
            gtk_widget_get_state_flags(row.widget).rawValue & GTK_STATE_FLAG_FOCUS_WITHIN.rawValue != 0
        }
    }
}

/// A row of a list: a title, a line beneath it, and widgets before and after them.
@MainContext
public final class Row: Widget {
    private var title = ""

    /// Creates a row.
    ///
    /// - Parameters:
    ///   - title: The text; never markup.
    ///   - subtitle: A smaller text beneath the title.
    ///   - prefix: A widget before the texts.
    ///   - isActivatable: Whether the row can be clicked.
    public convenience init(
        title: String,
        subtitle: String = "",
        prefix: Widget? = nil,
        isActivatable: Bool = false
    ) {
        self.init(made: adw_action_row_new())
        self.title = title
        adw_preferences_row_set_use_markup(pointer(), 0)
        adw_preferences_row_set_title(pointer(), title)
        adw_action_row_set_subtitle(pointer(), subtitle)
        if let prefix { adw_action_row_add_prefix(pointer(), prefix.widget) }
        gtk_list_box_row_set_activatable(pointer(), isActivatable ? 1 : 0)
    }

    /// Crosses the title out, or no longer: it is of something that is done.
    public func crossOut(_ isDone: Bool) {
        let isMarkup = isDone ? 1 : 0
        guard adw_preferences_row_get_use_markup(pointer()) != gboolean(isMarkup) else { return }
        adw_preferences_row_set_use_markup(pointer(), gboolean(isMarkup))
        guard isDone, let escaped = g_markup_escape_text(title, -1) else {
            return adw_preferences_row_set_title(pointer(), title)
        }
        adw_preferences_row_set_title(pointer(), "<span alpha='70%'><s>\(String(cString: escaped))</s></span>")
        g_free(escaped)
    }

    /// Adds a widget on the right.
    public func add(_ suffix: Widget) {
        adw_action_row_add_suffix(pointer(), suffix.widget)
    }

    /// Calls `action` when the row is clicked or activated with Return.
    public func onActivation(_ action: @escaping @MainContext () -> Void) -> Self {
        connect(widget, "activated", action)
        return self
    }
}

/// A round picture of a person: the initials, in a color made from the name.
@MainContext
public final class Avatar: Widget {
    /// Creates a picture with a size in pixels.
    public convenience init(_ name: String, size: Int) {
        self.init(made: adw_avatar_new(Int32(size), name, name.isEmpty ? 0 : 1))
    }

    /// Shows another person; an empty name shows a generic picture.
    public func show(_ name: String) {
        adw_avatar_set_text(opaque, name)
        adw_avatar_set_show_initials(opaque, name.isEmpty ? 0 : 1)
    }
}
