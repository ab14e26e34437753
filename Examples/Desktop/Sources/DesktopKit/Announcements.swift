// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import CAdwaita

/// The texts that a window has a screen reader say.
///
/// Before GTK 4.14 there are no announcements. There a text becomes the description of the widget with the keyboard focus:
/// a screen reader says a description that changes. The widget has its own description again when the focus leaves it.
@MainContext
final class Announcements {
    /// A screen reader drops what it says for what comes next, so texts that come together are said together.
    private static let pause = Activity.delay
    private static let key = "kit-announcements"

    private unowned let window: Window
    private var texts: [String] = []
    private var saying: Task<Void, Never>?
    private var described: (widget: Widget, before: String)?
    /// The texts said last, if they were said once, and when.
    private var last: (text: String, time: ContinuousClock.Instant)?

    /// Adds announcements to a window, which keeps them.
    static func add(to window: Window) {
        let made = Unmanaged.passRetained(Announcements(window)).toOpaque()
        g_object_set_data_full(cast(window.widget), key, made) { data in
            if let data { Unmanaged<AnyObject>.fromOpaque(data).release() }
        }
    }

    /// Returns the announcements of the window with a widget, if it is in one.
    static func around(_ widget: UnsafeMutablePointer<GtkWidget>) -> Announcements? {
        guard let root = gtk_widget_get_root(widget),
            let data = g_object_get_data(cast(UnsafeMutablePointer<GtkWidget>(root)), key)
        else { return nil }
        return Unmanaged<Announcements>.fromOpaque(data).takeUnretainedValue()
    }

    private init(_ window: Window) {
        self.window = window
        connect(window.widget, "notify::focus-widget") { [weak self] in
            // A screen reader hears of the new focus first.
            MainContext.perform(whenIdle: true) { [weak self] in
                self?.restore()
                self?.repeatLast()
                self?.sayNow()
            }
        }
    }

    /// Says a text, together with what else comes at this moment.
    func say(_ text: String) {
        texts.append(text)
        last = nil
        saying?.cancel()
        saying = Task { @MainContext [weak self] in
            guard (try? await Task.sleep(for: Self.pause)) != nil, let self else { return }
            saying = nil
            sayNow()
        }
    }

    /// Says the texts; without a widget that has the focus, as soon as there is one.
    private func sayNow() {
        guard saying == nil, !texts.isEmpty else { return }
        let text = texts.joined(separator: " ")
        guard describeFocus(text) else { return }
        texts = []
        last = (text, .now)
    }

    /// Says once more what the focus has cut short by moving.
    private func repeatLast() {
        guard let (text, time) = last, time.duration(to: .now) < .seconds(1) else { return }
        last = nil
        _ = describeFocus(text)
    }

    /// Has the text said now. Returns `false` if no widget has the focus.
    private func describeFocus(_ text: String) -> Bool {
        guard kit_announce(window.widget, text) == 0 else { return true }
        guard let focus = kit_focus(window.widget) else { return false }
        restore()
        if described == nil {
            described = (Widget(focus), kit_description(focus).map { String(cString: $0) } ?? "")
        }
        // The same text again would be no change.
        for text in ["", text] { kit_set_accessible_description(focus, text) }
        return true
    }

    /// Gives a widget that has the focus no more its own description.
    private func restore() {
        guard let (widget, before) = described, kit_focus(window.widget) != widget.widget else { return }
        described = nil
        kit_set_accessible_description(widget.widget, before)
    }
}

extension Widget {
    /// Has a screen reader say a text.
    public func announce(_ text: String) {
        Announcements.around(widget)?.say(text)
    }
}
