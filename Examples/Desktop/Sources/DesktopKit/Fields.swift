// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import CAdwaita

/// A search field.
@MainContext
public final class SearchField: Widget {
    /// Creates an empty field.
    public convenience init(hint: String) {
        self.init(made: gtk_search_entry_new())
        kit_set_string(widget, "placeholder-text", hint)
        named(hint)
    }

    /// The text in the field.
    public var text: String {
        get { String(cString: gtk_editable_get_text(opaque)) }
        set { gtk_editable_set_text(opaque, newValue) }
    }

    /// Calls `action` immediately after every change.
    public func onChange(_ action: @escaping @MainContext (String) -> Void) {
        connect(widget, "changed") { [weak self] in
            if let self { action(text) }
        }
    }
}

/// A text field.
///
/// A field in a list, AdwEntryRow, is mute: libadwaita 1.2 tells a screen reader nothing of the focus inside it.
@MainContext
public final class TextField: Widget {
    /// Creates an empty field.
    public convenience init(hint: String) {
        self.init(made: gtk_entry_new())
        kit_set_string(widget, "placeholder-text", hint)
        named(hint)
    }

    /// The text in the field.
    public var text: String {
        get { String(cString: gtk_editable_get_text(opaque)) }
        set { gtk_editable_set_text(opaque, newValue) }
    }

    /// Calls `action` when Return is pressed.
    public func onActivation(_ action: @escaping @MainContext () -> Void) {
        connect(widget, "activate", action)
    }
}

/// A check box.
@MainContext
public final class CheckBox: Widget {
    /// Creates a check box.
    public convenience init(isChecked: Bool = false) {
        self.init(made: gtk_check_button_new())
        self.isChecked = isChecked
        aligned(vertically: .center)
    }

    /// Whether the box is checked.
    public var isChecked: Bool {
        get { gtk_check_button_get_active(pointer()) != 0 }
        set { gtk_check_button_set_active(pointer(), newValue ? 1 : 0) }
    }

    /// Calls `action` after every change, including changes by the program.
    public func onChange(_ action: @escaping @MainContext (Bool) -> Void) {
        connect(widget, "toggled") { [weak self] in
            if let self { action(isChecked) }
        }
    }
}
