// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import CAdwaita

/// A bar across the window that shows a problem and the command that may help.
///
/// A screen reader knows the bar as an alert, and says the problem when the bar takes the keyboard focus. While the person
/// is typing, the focus stays, and the problem is announced.
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
        if let problem = self?.problem { Desktop.copy(problem.forSupport) }
    }

    /// The bar's own button has no name.
    private lazy var closeButton = Button(icon: "window-close-symbolic", hint: tr("Close")) { [weak self] in
        self?.hide()
    }

    /// Creates a hidden bar.
    public convenience init() {
        self.init(made: kit_alert_bar_new())
        let buttons = Box.row(spacing: 6, button, copyButton.styled("flat"), closeButton.styled("flat"))
            .aligned(horizontally: .end, vertically: .center)
        let content = FlowBox(spacing: 6, label.expanding(), buttons).expanding()
        gtk_info_bar_add_child(opaque, content.widget)
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
        copyButton.isVisible = problem.hasDetails
        button.setText(title ?? (problem.remedy == .signIn ? tr("_Sign In") : tr("_Retry")))
        button.isVisible = action != nil
        // Said with the widget that gets the focus, as what it is in.
        named(problem.text)
        gtk_info_bar_set_message_type(opaque, problem.isDecision ? GTK_MESSAGE_INFO : GTK_MESSAGE_ERROR)
        gtk_info_bar_set_revealed(opaque, 1)
        kit_set_accessible_hidden(widget, 0)
        guard focusInWindow?.isEditable != true else { return announce(problem.text) }
        (action == nil ? closeButton : button).focusWhenShown { [weak self] focused in
            if let self, let focused, !isAround(focused) { previous = focused }
        }
    }

    /// Hides the bar.
    public func hide() {
        let hadFocus = focusInWindow.map { isAround($0) } == true
        let previous = previous
        self.previous = nil
        action = nil
        for widget in [button, closeButton] { widget.keepFocusAway() }
        gtk_info_bar_set_revealed(opaque, 0)
        kit_set_accessible_hidden(widget, 1)
        if hadFocus { previous?.focusWhenShown() }
    }
}

/// A row with a message and a command about it. It stays until it is closed: a person may need long to reach the command.
@MainContext
public final class NoticeBar {
    /// The widget for the window, hidden at first.
    public let widget: FlowBox
    private let label = Label().selectable()

    /// Creates a hidden row.
    ///
    /// - Parameters:
    ///   - button: The command's text.
    ///   - action: The action of the command, added by `Application.addAction`.
    ///   - close: Called when the person closes the row.
    public init(button: String, action: String, close: @escaping @MainContext () -> Void) {
        let closeButton = Button(icon: "window-close-symbolic", hint: tr("Close"), close).styled("flat")
        let buttons = Box.row(spacing: 6, Button(button, action: action), closeButton).aligned(horizontally: .end)
        widget = FlowBox(spacing: 6, label.expanding(), buttons)
        widget.isVisible = false
    }

    /// Shows a message; `nil` hides the row.
    public func show(_ text: String?) {
        label.text = text ?? ""
        widget.isVisible = text != nil
    }
}
