// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import CAdwaita

/// A button that opens a menu.
@MainContext
public final class MenuButton: Widget {
    /// One line of a menu.
    public struct Item: Sendable {
        let text: String
        let action: String
        let target: String?

        /// Creates a line for an action added by `Application.addAction`.
        public static func action(_ text: String, _ name: String) -> Item {
            Item(text: text, action: "app.\(name)", target: nil)
        }

        /// Creates a line for a value of `Application.addChoice`, with a mark if it is the current value. The text is
        /// shown unchanged: an underscore does not create a mnemonic.
        public static func choice(_ text: String, _ name: String, _ value: String) -> Item {
            Item(text: escaped(text), action: "app.\(name)", target: value)
        }

        /// Returns a text in which no underscore creates a mnemonic.
        public static func escaped(_ text: String) -> String {
            text.unicodeScalars.map { $0 == "_" ? "__" : String($0) }.joined()
        }
    }

    /// Creates a button with an empty menu. F10 opens the primary menu of a window.
    public convenience init(icon: String, hint: String, isPrimary: Bool = false) {
        self.init(made: gtk_menu_button_new())
        gtk_menu_button_set_icon_name(opaque, icon)
        gtk_menu_button_set_primary(opaque, isPrimary ? 1 : 0)
        self.hint(hint)
    }

    /// Opens the menu.
    public func open() {
        gtk_menu_button_popup(opaque)
    }

    /// Replaces the menu. Sections are separated by a line.
    public func show(_ sections: [[Item]]) {
        let menu = g_menu_new()
        for section in sections {
            let lines = g_menu_new()
            for item in section {
                let line = g_menu_item_new(item.text, nil)
                g_menu_item_set_action_and_target_value(
                    line,
                    item.action,
                    item.target.flatMap { g_variant_new_string($0) }
                )
                g_menu_append_item(lines, line)
                release(line)
            }
            g_menu_append_section(menu, nil, lines.map { UnsafeMutablePointer<GMenuModel>($0) })
            release(lines)
        }
        gtk_menu_button_set_menu_model(opaque, menu.map { UnsafeMutablePointer<GMenuModel>($0) })
        // The menu is called by its class where it has no name. It needs none: its button has one.
        if let popover = gtk_menu_button_get_popover(opaque) { kit_set_accessible_label(cast(popover), "") }
        release(menu)
    }
}

extension Application {
    /// Adds a choice between texts for use in menus.
    ///
    /// - Parameters:
    ///   - name: The action's name.
    ///   - action: Called with the chosen value if it has changed.
    public func addChoice(_ name: String, _ action: @escaping @MainContext (String) -> Void) {
        let type = g_variant_type_new("s")
        let choice = g_simple_action_new_stateful(name, type, g_variant_new_string(""))
        g_variant_type_free(type)
        connect(choice.map(UnsafeMutableRawPointer.init), "notify::state") { [weak self] in
            if let self { action(self.choice(name)) }
        }
        g_action_map_add_action(OpaquePointer(pointer), choice)
        release(choice)
    }

    /// Returns the current value of a choice.
    public func choice(_ name: String) -> String {
        guard let state = g_action_group_get_action_state(OpaquePointer(pointer), name) else { return "" }
        defer { g_variant_unref(state) }
        return g_variant_get_string(state, nil).map { String(cString: $0) } ?? ""
    }

    /// Sets a choice and calls its action if the value has changed.
    public func setChoice(_ name: String, to value: String) {
        guard choice(name) != value else { return }
        g_action_group_change_action_state(OpaquePointer(pointer), name, g_variant_new_string(value))
    }
}
