// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import CAdwaita

/// A page with a picture, a title and an explanation, for empty views and errors.
@MainContext
public final class StatusPage: Widget {
    /// Creates a page.
    ///
    /// - Parameters:
    ///   - icon: A name in the desktop's icon theme.
    ///   - title: The state, in a few words.
    ///   - description: An explanation or the remedy.
    ///   - action: A button or another widget beneath the texts.
    public convenience init(icon: String, title: String, description: String = "", action: Widget? = nil) {
        self.init(made: adw_status_page_new())
        show(icon: icon, title: title, description: description)
        if let action { adw_status_page_set_child(opaque, action.widget) }
        expanding(vertically: true)
    }

    /// Replaces the picture and the texts; the button stays.
    public func show(icon: String, title: String, description: String) {
        adw_status_page_set_icon_name(opaque, icon)
        adw_status_page_set_title(opaque, title)
        // The description is markup. The text to show is never markup.
        let escaped = g_markup_escape_text(description, -1)
        adw_status_page_set_description(opaque, escaped)
        g_free(escaped)
    }
}

/// The page of a program that found an obstacle as it started, with the ways to go on.
@MainContext
public final class FailurePage {
    /// The widget for the window.
    public let widget: StatusPage
    private let tryAgain: Button
    private let goOn: Button
    private let buttons: Box
    private let title: String
    private var problem: Problem?
    private lazy var copyDetails = Button(tr("Copy the _Details for Support")) { [weak self] in
        if let problem = self?.problem { Desktop.copy(problem.forSupport) }
    }

    /// Creates a page.
    ///
    /// - Parameters:
    ///   - title: The obstacle in a few words. If only sign-ins cannot be kept, the page says that instead.
    ///   - start: Starts again.
    public init(title: String, start: @escaping @MainContext (CacheUse) -> Void) {
        self.title = title
        tryAgain = Button(tr("_Try Again")) { start(.asking) }.styled("pill")
        goOn = Button(tr("_Continue Without Keeping")) { start(.memory) }.styled("pill")
        buttons = Box.column(spacing: 12).aligned(horizontally: .center)
        widget = StatusPage(icon: Self.icon, title: title, action: buttons)
    }

    private static let icon = "dialog-error-symbolic"

    /// Shows a problem. If only the token cache cannot be used, the page offers to go on without it; and offers that first
    /// if another attempt would find no keyring either. The first button has the focus, and is described with the problem.
    public func show(_ problem: Problem?) {
        self.problem = problem
        let concernsCache = problem?.concernsCache == true
        let hint = concernsCache ? tr("Without keeping, you are signed in until the program ends.") : ""
        let text = [problem?.text ?? tr("Cancelled."), hint].filter { !$0.isEmpty }.joined(separator: "\n")
        let title = concernsCache ? tr("Sign-Ins Cannot Be Kept") : title
        widget.show(icon: Self.icon, title: title, description: text)
        let ways = !concernsCache ? [tryAgain] : problem?.hasNoKeyring == true ? [goOn, tryAgain] : [tryAgain, goOn]
        buttons.replace(with: ways + (problem?.hasDetails == true ? [copyDetails.styled("flat")] : []))
        for (index, way) in ways.enumerated() { way.setStyled("suggested-action", index == 0) }
        for way in ways { way.described("") }
        ways[0].described("\(title). \(text)").focusWhenShown()
    }
}

/// A spinner that turns while the program is busy.
@MainContext
public final class Spinner: Widget {
    /// Creates a hidden spinner that does not turn.
    public convenience init() {
        self.init(made: gtk_spinner_new())
        named(tr("Busy"))
        isSpinning = false
    }

    /// Whether the spinner turns; otherwise it is hidden.
    public var isSpinning = false {
        didSet {
            gtk_spinner_set_spinning(opaque, isSpinning ? 1 : 0)
            isVisible = isSpinning
        }
    }
}

/// A stack of pages in one place, one of which is shown.
@MainContext
public final class Stack<Page: RawRepresentable<String>>: Widget {
    /// Creates an empty stack.
    public convenience init() {
        self.init(made: gtk_stack_new())
        gtk_stack_set_transition_type(opaque, GTK_STACK_TRANSITION_TYPE_CROSSFADE)
        // The stack is only as large as the page on display.
        gtk_stack_set_hhomogeneous(opaque, 0)
        gtk_stack_set_vhomogeneous(opaque, 0)
    }

    private var pages: [String: Widget] = [:]
    private var firsts: [String: Widget] = [:]

    /// Adds a page; the first page is shown.
    ///
    /// - Parameter first: The widget that gets the keyboard focus when the page appears.
    public func add(_ page: Page, _ child: Widget, first: Widget? = nil) {
        firsts[page.rawValue] = first
        gtk_stack_add_named(opaque, child.widget, page.rawValue)
        kit_hush_stack_page(opaque, child.widget)
        kit_set_accessible_hidden(child.widget, pages.isEmpty ? 0 : 1)
        pages[page.rawValue] = child
    }

    /// The page on display.
    public var shown: Page? {
        gtk_stack_get_visible_child_name(opaque).flatMap { Page(rawValue: String(cString: $0)) }
    }

    /// Shows a page.
    public func show(_ page: Page) {
        let isNew = shown?.rawValue != page.rawValue
        gtk_stack_set_visible_child_name(opaque, page.rawValue)
        for (name, child) in pages { kit_set_accessible_hidden(child.widget, name == page.rawValue ? 0 : 1) }
        for (name, first) in firsts where name != page.rawValue { first.keepFocusAway() }
        if isNew { firsts[page.rawValue]?.focusWhenShown() }
    }
}

/// A container that keeps its content from growing too wide to read.
@MainContext
public final class Clamp: Widget {
    /// Creates a container that limits the width of `child`, in pixels.
    public convenience init(_ child: Widget, width: Int = 600) {
        self.init(made: adw_clamp_new())
        adw_clamp_set_maximum_size(opaque, Int32(width))
        adw_clamp_set_child(opaque, child.widget)
    }
}

/// A view that shows a part of larger content.
@MainContext
public final class ScrolledView: Widget {
    /// Creates a view in which `child` scrolls vertically.
    public convenience init(_ child: Widget) {
        self.init(made: gtk_scrolled_window_new())
        gtk_scrolled_window_set_policy(opaque, GTK_POLICY_NEVER, GTK_POLICY_AUTOMATIC)
        gtk_scrolled_window_set_child(opaque, child.widget)
        expanding(vertically: true)
    }

    /// Calls `action` when less than a screenful is left below, including when the content grows or shrinks to that
    /// size.
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
