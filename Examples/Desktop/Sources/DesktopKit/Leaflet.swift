// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import CAdwaita

/// A list beside the details of what is chosen in it; in a narrow window, one or the other.
@MainContext
public final class Leaflet: Widget {
    private var list: Widget?
    private var details: Widget?

    /// Puts `list` at the left, and `details` at the right.
    public convenience init(list: Widget, details: Widget) {
        self.init(made: adw_leaflet_new())
        self.list = list
        self.details = details
        adw_leaflet_append(opaque, list.widget)
        let separator = adw_leaflet_append(opaque, gtk_separator_new(GTK_ORIENTATION_VERTICAL))
        adw_leaflet_page_set_navigatable(separator, 0)
        adw_leaflet_append(opaque, details.widget)
        adw_leaflet_set_can_navigate_back(opaque, 1)
    }

    /// Whether there is room for one of them only.
    public var isFolded: Bool { adw_leaflet_get_folded(opaque) != 0 }

    /// Shows the list, where there is room for one.
    public func showList() {
        if let list { adw_leaflet_set_visible_child(opaque, list.widget) }
    }

    /// Shows the details, where there is room for one.
    public func showDetails() {
        if let details { adw_leaflet_set_visible_child(opaque, details.widget) }
    }

    /// Calls `action` when that changes.
    public func onFold(_ action: @escaping @MainContext () -> Void) {
        connect(widget, "notify::folded", action)
    }
}
