// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import CAdwaita

/// A list beside the details of the selected row. A narrow window shows only one of the two.
@MainContext
public final class Leaflet: Widget {
    private var list: Widget?
    private var details: Widget?

    /// Creates a leaflet with `list` on the left and `details` on the right.
    public convenience init(list: Widget, details: Widget) {
        self.init(made: adw_leaflet_new())
        self.list = list
        self.details = details
        adw_leaflet_append(opaque, list.widget)
        let separator = adw_leaflet_append(opaque, gtk_separator_new(GTK_ORIENTATION_VERTICAL))
        adw_leaflet_page_set_navigatable(separator, 0)
        adw_leaflet_append(opaque, details.widget)
        adw_leaflet_set_can_navigate_back(opaque, 1)
        for property in ["folded", "visible-child"] {
            connect(widget, "notify::\(property)") { [weak self] in self?.hideTheOther() }
        }
    }

    /// Hides from screen readers what is not shown. GTK 4.8 reports it, too.
    private func hideTheOther() {
        let shown = adw_leaflet_get_visible_child(opaque)
        for child in [list, details].compactMap({ $0 }) {
            kit_set_accessible_hidden(child.widget, isFolded && child.widget != shown ? 1 : 0)
        }
    }

    /// Whether there is room for only one of the two.
    public var isFolded: Bool { adw_leaflet_get_folded(opaque) != 0 }

    /// Shows the list if there is room for only one of the two.
    public func showList() {
        if let list { adw_leaflet_set_visible_child(opaque, list.widget) }
    }

    /// Shows the details if there is room for only one of the two.
    public func showDetails() {
        if let details { adw_leaflet_set_visible_child(opaque, details.widget) }
    }

    /// Calls `action` after ``isFolded`` has changed. It changes while GTK lays out the window, which is no time to show or
    /// hide a part of it.
    public func onFold(_ action: @escaping @Sendable @MainContext () -> Void) {
        connect(widget, "notify::folded") { MainContext.perform(action) }
    }
}
