// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import CAdwaita

/// A bar across the window that shows an error and offers to try again.
@MainContext
public final class ErrorBar: Widget {
    private let label = Label().selectable()
    private var retry: (@MainContext () -> Void)?
    private lazy var button = Button(tr("_Retry")) { [weak self] in
        guard let self else { return }
        let retry = retry
        hide()
        retry?()
    }

    /// Creates a hidden bar.
    public convenience init() {
        self.init(made: gtk_info_bar_new())
        gtk_info_bar_set_message_type(opaque, GTK_MESSAGE_ERROR)
        gtk_info_bar_add_child(opaque, label.expanding().widget)
        gtk_info_bar_add_action_widget(opaque, button.widget, Int32(GTK_RESPONSE_ACCEPT.rawValue))
        gtk_info_bar_set_show_close_button(opaque, 1)
        connect(widget, "response") { [weak self] in self?.hide() }
        connect(widget, "close") { [weak self] in self?.hide() }
        hide()
    }

    /// Shows an error.
    ///
    /// - Parameters:
    ///   - text: The problem and the remedy.
    ///   - title: The button's text.
    ///   - retry: The button's action; without an action there is no button.
    public func show(_ text: String, title: String = tr("_Retry"), retry: (@MainContext () -> Void)? = nil) {
        label.text = text
        button.setText(title)
        self.retry = retry
        button.isVisible = retry != nil
        gtk_info_bar_set_revealed(opaque, 1)
        kit_set_accessible_hidden(widget, 0)
    }

    /// Hides the bar.
    public func hide() {
        retry = nil
        gtk_info_bar_set_revealed(opaque, 0)
        kit_set_accessible_hidden(widget, 1)
    }
}
