// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import CAdwaita

/// A page with a picture, a title and an explanation: for what is empty, and for what went wrong.
@MainContext
public final class StatusPage: Widget {
    /// Makes a page.
    ///
    /// - Parameters:
    ///   - icon: A name of the desktop's icon theme.
    ///   - title: The state, in a few words.
    ///   - description: An explanation, or the remedy.
    ///   - action: A button or the like beneath them.
    public convenience init(icon: String, title: String, description: String = "", action: Widget? = nil) {
        self.init(made: adw_status_page_new())
        show(icon: icon, title: title, description: description)
        if let action { adw_status_page_set_child(opaque, action.widget) }
        expanding(vertically: true)
    }

    /// Shows something else; the button stays.
    public func show(icon: String, title: String, description: String) {
        adw_status_page_set_icon_name(opaque, icon)
        adw_status_page_set_title(opaque, title)
        // The description is markup, what is shown never is.
        let escaped = g_markup_escape_text(description, -1)
        adw_status_page_set_description(opaque, escaped)
        g_free(escaped)
    }
}

/// Something that turns while the program is busy.
@MainContext
public final class Spinner: Widget {
    /// Makes one that stands still, and is not seen.
    public convenience init() {
        self.init(made: gtk_spinner_new())
        named(tr("Busy"))
        isSpinning = false
    }

    /// Whether it turns; otherwise it is not seen.
    public var isSpinning = false {
        didSet {
            gtk_spinner_set_spinning(opaque, isSpinning ? 1 : 0)
            isVisible = isSpinning
        }
    }
}

/// Several widgets in one place, of which one is shown.
@MainContext
public final class Stack<Page: RawRepresentable<String>>: Widget {
    /// Makes an empty one.
    public convenience init() {
        self.init(made: gtk_stack_new())
        gtk_stack_set_transition_type(opaque, GTK_STACK_TRANSITION_TYPE_CROSSFADE)
        // As small as the page that is shown.
        gtk_stack_set_hhomogeneous(opaque, 0)
        gtk_stack_set_vhomogeneous(opaque, 0)
    }

    private var pages: [String: Widget] = [:]

    /// Adds a page; the first one is shown.
    public func add(_ page: Page, _ child: Widget) {
        gtk_stack_add_named(opaque, child.widget, page.rawValue)
        kit_set_accessible_hidden(child.widget, pages.isEmpty ? 0 : 1)
        pages[page.rawValue] = child
    }

    /// Shows a page.
    public func show(_ page: Page) {
        gtk_stack_set_visible_child_name(opaque, page.rawValue)
        for (name, child) in pages { kit_set_accessible_hidden(child.widget, name == page.rawValue ? 0 : 1) }
    }
}

/// Keeps its content from growing wider than is good to read.
@MainContext
public final class Clamp: Widget {
    /// Keeps `child` below a width in pixels.
    public convenience init(_ child: Widget, width: Int = 600) {
        self.init(made: adw_clamp_new())
        adw_clamp_set_maximum_size(opaque, Int32(width))
        adw_clamp_set_child(opaque, child.widget)
    }
}

/// Shows a part of something larger.
@MainContext
public final class ScrolledView: Widget {
    /// Shows `child`, which scrolls up and down.
    public convenience init(_ child: Widget) {
        self.init(made: gtk_scrolled_window_new())
        gtk_scrolled_window_set_policy(opaque, GTK_POLICY_NEVER, GTK_POLICY_AUTOMATIC)
        gtk_scrolled_window_set_child(opaque, child.widget)
        expanding(vertically: true)
    }

    /// Calls `action` when less than a screenful is left below, and when the content grows or shrinks to that.
    public func onNearingEnd(_ action: @escaping @MainContext () -> Void) {
        let adjustment = gtk_scrolled_window_get_vadjustment(opaque)
        let look: @MainContext () -> Void = { [weak self] in if self?.isNearEnd == true { action() } }
        connect(adjustment, "value-changed", look)
        connect(adjustment, "changed", look)
    }

    /// Whether less than a screenful is left below.
    public var isNearEnd: Bool {
        let adjustment = gtk_scrolled_window_get_vadjustment(opaque)
        let page = gtk_adjustment_get_page_size(adjustment)
        return page > 0
            && gtk_adjustment_get_value(adjustment) + 2 * page >= gtk_adjustment_get_upper(adjustment)
    }
}
