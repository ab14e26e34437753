// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import CAdwaita

extension ListBox {
    /// Adds a field at the end.
    public func append(_ entry: EntryRow) {
        gtk_list_box_append(opaque, entry.widget)
    }
}

extension EntryRow {
    /// Adds a widget on the right.
    public func add(_ suffix: Widget) {
        adw_entry_row_add_suffix(pointer(), suffix.widget)
    }
}

extension Row {
    /// Wraps a long title over several lines instead of cutting it off.
    public func wrapping() -> Self {
        adw_action_row_set_title_lines(pointer(), 0)
        return self
    }
}

extension Widget {
    /// Adds or removes a class of libadwaita's style sheet.
    public func setStyled(_ name: String, _ isStyled: Bool) {
        if isStyled { gtk_widget_add_css_class(widget, name) } else { gtk_widget_remove_css_class(widget, name) }
    }
}
