// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import CAdwaita

/// A view of text that grows at its end and scrolls to it. The oldest lines go when it becomes long.
@MainContext
public final class LogView: Widget {
    /// The characters that are kept. GTK lays out each of them again when the window's width changes.
    nonisolated static let limit = 100_000

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
        let shown = Self.shown(lines)
        let line = gtk_text_buffer_get_char_count(buffer) == 0 ? shown : "\n" + shown
        gtk_text_buffer_insert(buffer, &end, line, -1)
        forgetOldest(buffer)
        gtk_text_buffer_get_end_iter(buffer, &end)
        gtk_text_buffer_place_cursor(buffer, &end)
        gtk_text_view_scroll_mark_onscreen(view, gtk_text_buffer_get_insert(buffer))
    }

    /// Returns a text of any origin as it can be shown: characters that would end the text or turn its direction around
    /// are replaced, and a text that is too long is cut off.
    nonisolated static func shown(_ text: String) -> String {
        let scalars = text.unicodeScalars
        let start = scalars.prefix(limit).map { scalar -> Unicode.Scalar in
            let isControl = scalar.properties.generalCategory == .control && scalar != "\n" && scalar != "\t"
            return isControl || scalar.properties.isBidiControl ? "\u{FFFD}" : scalar
        }
        let shown = String(String.UnicodeScalarView(start))
        return start.count < scalars.count ? shown + "…" : shown
    }

    private func forgetOldest(_ buffer: UnsafeMutablePointer<GtkTextBuffer>?) {
        let surplus = gtk_text_buffer_get_char_count(buffer) - Int32(Self.limit)
        guard surplus > 0 else { return }
        var (start, end) = (GtkTextIter(), GtkTextIter())
        gtk_text_buffer_get_start_iter(buffer, &start)
        gtk_text_buffer_get_iter_at_offset(buffer, &end, surplus)
        gtk_text_iter_forward_line(&end)
        gtk_text_buffer_delete(buffer, &start, &end)
    }

    /// Removes all lines.
    public func clear() {
        guard let text else { return }
        gtk_text_buffer_set_text(gtk_text_view_get_buffer(UnsafeMutablePointer<GtkTextView>(text)), "", 0)
    }
}
