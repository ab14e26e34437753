// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import CAdwaita

/// A view of text that grows at its end and scrolls to it.
@MainContext
public final class LogView: Widget {
    private var text: OpaquePointer?

    /// Creates an empty view.
    public convenience init(name: String) {
        self.init(made: gtk_scrolled_window_new())
        let view = gtk_text_view_new()
        gtk_scrolled_window_set_child(opaque, view)
        let text: UnsafeMutablePointer<GtkTextView>? = view.map { cast($0) }
        gtk_text_view_set_editable(text, 0)
        gtk_text_view_set_cursor_visible(text, 0)
        gtk_text_view_set_monospace(text, 1)
        gtk_text_view_set_wrap_mode(text, GTK_WRAP_WORD_CHAR)
        for margin in [gtk_text_view_set_left_margin, gtk_text_view_set_right_margin] { margin(text, 12) }
        for margin in [gtk_text_view_set_top_margin, gtk_text_view_set_bottom_margin] { margin(text, 12) }
        if let view { kit_set_accessible_label(view, name) }
        self.text = text.map { OpaquePointer($0) }
        styled("card")
        expanding(vertically: true)
        gtk_widget_set_overflow(widget, GTK_OVERFLOW_HIDDEN)
    }

    /// Adds lines at the end.
    public func append(_ lines: String) {
        guard let text else { return }
        let view = UnsafeMutablePointer<GtkTextView>(text)
        let buffer = gtk_text_view_get_buffer(view)
        var end = GtkTextIter()
        gtk_text_buffer_get_end_iter(buffer, &end)
        let line = gtk_text_buffer_get_char_count(buffer) == 0 ? lines : "\n" + lines
        gtk_text_buffer_insert(buffer, &end, line, -1)
        gtk_text_buffer_get_end_iter(buffer, &end)
        gtk_text_buffer_place_cursor(buffer, &end)
        gtk_text_view_scroll_mark_onscreen(view, gtk_text_buffer_get_insert(buffer))
    }

    /// Removes all lines.
    public func clear() {
        guard let text else { return }
        gtk_text_buffer_set_text(gtk_text_view_get_buffer(UnsafeMutablePointer<GtkTextView>(text)), "", 0)
    }
}
