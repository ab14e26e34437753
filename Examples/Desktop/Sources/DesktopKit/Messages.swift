// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import CAdwaita

/// A bar across the window that shows a problem and the command that may help.
///
/// A screen reader knows the bar as an alert, and the bar takes the keyboard focus, unless the person is typing.
@MainContext
public final class ErrorBar: Widget {
    private let label = Label().selectable()
    private var problem: Problem?
    private var action: (@MainContext () -> Void)?
    /// The widget that had the focus before.
    private var previous: Widget?
    private lazy var button = Button(tr("_Retry")) { [weak self] in
        guard let self else { return }
        let action = action
        hide()
        action?()
    }
    private lazy var copyButton = Button(
        icon: "edit-copy-symbolic",
        hint: tr("Copy the details for support")
    ) { [weak self] in
        if let problem = self?.problem { Desktop.copy(problem.full) }
    }

    /// Creates a hidden bar.
    public convenience init() {
        self.init(made: kit_alert_bar_new())
        gtk_info_bar_add_child(opaque, label.expanding().widget)
        gtk_info_bar_add_child(opaque, copyButton.styled("flat").aligned(vertically: .center).widget)
        gtk_info_bar_add_action_widget(opaque, button.widget, Int32(GTK_RESPONSE_ACCEPT.rawValue))
        gtk_info_bar_set_show_close_button(opaque, 1)
        connect(widget, "response") { [weak self] in self?.hide() }
        connect(widget, "close") { [weak self] in self?.hide() }
        hide()
    }

    /// Shows a problem.
    ///
    /// - Parameters:
    ///   - problem: The problem. Its details can be copied, and are shown nowhere in the bar.
    ///   - title: The button's text; by default the problem's remedy. If there is neither, there is no button.
    ///   - action: The button's action; without an action there is no button.
    public func show(_ problem: Problem, title: String? = nil, action: (@MainContext () -> Void)? = nil) {
        let action = problem.remedy == .none && title == nil ? nil : action
        self.problem = problem
        self.action = action
        label.text = problem.text
        copyButton.isVisible = !problem.details.isEmpty
        button.setText(title ?? (problem.remedy == .signIn ? tr("_Sign In") : tr("_Retry")))
        button.isVisible = action != nil
        kit_set_accessible_description(button.widget, problem.text)
        gtk_info_bar_set_message_type(opaque, problem.isDecision ? GTK_MESSAGE_INFO : GTK_MESSAGE_ERROR)
        gtk_info_bar_set_revealed(opaque, 1)
        kit_set_accessible_hidden(widget, 0)
        let focused = focusedWidget
        guard focused.map({ kit_is_editable($0) }) != 1 else { return }
        previous = focused.map { Widget($0) }
        (action == nil ? label : button).focus()
    }

    /// Hides the bar.
    public func hide() {
        let hadFocus = focusedWidget.map { gtk_widget_is_ancestor($0, widget) } == 1
        let previous = previous
        self.previous = nil
        action = nil
        gtk_info_bar_set_revealed(opaque, 0)
        kit_set_accessible_hidden(widget, 1)
        if hadFocus { previous?.focus() }
    }

    private var focusedWidget: UnsafeMutablePointer<GtkWidget>? {
        gtk_widget_get_root(widget).flatMap { gtk_root_get_focus($0) }
    }
}

/// Content over which short messages appear for some seconds.
@MainContext
public final class ToastOverlay: Widget {
    /// Creates an overlay over `child`.
    public convenience init(_ child: Widget) {
        self.init(made: adw_toast_overlay_new())
        adw_toast_overlay_set_child(opaque, child.widget)
    }

    /// Shows a message with a button.
    public func show(_ text: String, button: String, _ action: @escaping @MainContext () -> Void) {
        // The title is markup. The text to show is never markup.
        let escaped = g_markup_escape_text(text, -1)
        let toast = adw_toast_new(escaped)
        g_free(escaped)
        adw_toast_set_button_label(toast, button)
        connect(toast.map(UnsafeMutableRawPointer.init), "button-clicked", action)
        adw_toast_overlay_add_toast(opaque, toast)
    }
}
