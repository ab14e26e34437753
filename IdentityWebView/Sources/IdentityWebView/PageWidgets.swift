// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

#if WebView
import CWebKitGTK

/// A widget of any class, the type that GTK's constructors return.
typealias Widget = UnsafeMutablePointer<GtkWidget>

/// The widgets of a ``PageWindow``. Used on the GTK main context only.
struct PageWidgets {
    let window: UnsafeMutablePointer<GtkWindow>
    /// The web view. It is retained until ``release()``, because the window drops it before reporting that it is gone.
    let view: UnsafeMutablePointer<WebKitWebView>
    let session: OpaquePointer
    let back: Widget
    let retry: Widget
    private let lock: Widget
    private let origin: Widget
    private let progress: Widget
    private let notice: Widget
    private let problem: Widget
    private let spinner: Widget
    private let stack: Widget
    private let texts: WebViewPresenter.Texts

    init?(title: String, texts: WebViewPresenter.Texts, parent: OpaquePointer?) {
        guard let (session, view) = PrivateWebView.make(), let window = gtk_window_new(),
            let header = gtk_header_bar_new(), let back = gtk_button_new(),
            let lock = gtk_image_new(), let origin = gtk_label_new(nil), let progress = gtk_progress_bar_new(),
            let notice = gtk_label_new(nil), let problem = gtk_label_new(nil), let spinner = gtk_spinner_new(),
            let retry = gtk_button_new_with_label(texts.tryAgain), let stack = gtk_stack_new(),
            let heading = gtk_label_new(title), let content = gtk_box_new(GTK_ORIENTATION_VERTICAL, 0)
        else { return nil }
        g_object_ref_sink(view)
        (self.session, self.view, self.window) = (session, view, window.cast())
        (self.back, self.retry, self.lock, self.origin) = (back, retry, lock, origin)
        (self.progress, self.notice, self.problem) = (progress, notice, problem)
        (self.spinner, self.stack, self.texts) = (spinner, stack, texts)

        gtk_button_set_child(back.cast(), identity_icon_new("go-previous-symbolic"))
        gtk_widget_set_tooltip_text(back, texts.back)
        identity_set_accessible_label(back, texts.back)
        identity_set_accessible_label(progress, texts.loading)
        gtk_widget_set_sensitive(back, 0)
        gtk_header_bar_pack_start(OpaquePointer(header), back)
        gtk_header_bar_set_title_widget(OpaquePointer(header), Self.titleWidget(heading, lock, origin))
        gtk_window_set_titlebar(self.window, header)

        gtk_label_set_wrap(OpaquePointer(notice), 1)
        gtk_widget_set_visible(notice, 0)
        Self.add(view.cast(), "page", to: stack)
        Self.add(Self.page(spinner, gtk_label_new(texts.finishing)), "finishing", to: stack)
        gtk_label_set_wrap(OpaquePointer(problem), 1)
        gtk_label_set_justify(OpaquePointer(problem), GTK_JUSTIFY_CENTER)
        gtk_widget_set_halign(retry, GTK_ALIGN_CENTER)
        Self.add(Self.page(problem, retry), "problem", to: stack)
        gtk_widget_set_vexpand(stack, 1)
        for child in [progress, notice, stack] { gtk_box_append(content.cast(), child) }
        gtk_window_set_child(self.window, content)

        gtk_window_set_title(self.window, title)
        gtk_window_set_default_size(self.window, 480, 680)
        Self.addKeys(to: window)
        guard let parent else { return }
        gtk_window_set_transient_for(self.window, UnsafeMutablePointer(parent))
        gtk_window_set_modal(self.window, 1)
        gtk_window_set_destroy_with_parent(self.window, 1)
    }

    private static func add(_ page: Widget?, _ name: String, to stack: Widget) {
        gtk_stack_add_named(OpaquePointer(stack), page, name)
        // A screen reader would call the page by its class; its content has a name.
        gtk_stack_get_page(OpaquePointer(stack), page).map { identity_hush($0) }
    }

    /// Adds the keys that close a dialog, for use if the page does not handle them.
    private static func addKeys(to window: Widget) {
        let keys = gtk_shortcut_controller_new()
        let trigger = gtk_shortcut_trigger_parse_string("Escape|<Control>w")
        gtk_shortcut_controller_add_shortcut(keys, gtk_shortcut_new(trigger, gtk_named_action_new("window.close")))
        gtk_widget_add_controller(window, keys)
    }

    /// Returns the title with the lock and the origin below it. A long host is shortened at its start, because its end
    /// matters.
    private static func titleWidget(_ heading: Widget, _ lock: Widget, _ origin: Widget) -> Widget? {
        gtk_widget_add_css_class(heading, "title")
        gtk_widget_add_css_class(origin, "subtitle")
        gtk_label_set_ellipsize(OpaquePointer(origin), PANGO_ELLIPSIZE_START)
        gtk_widget_set_visible(lock, 0)
        guard let line = gtk_box_new(GTK_ORIENTATION_HORIZONTAL, 4),
            let box = gtk_box_new(GTK_ORIENTATION_VERTICAL, 0)
        else { return nil }
        gtk_widget_set_halign(line, GTK_ALIGN_CENTER)
        gtk_widget_set_valign(lock, GTK_ALIGN_CENTER)
        gtk_widget_set_valign(box, GTK_ALIGN_CENTER)
        for child in [lock, origin] { gtk_box_append(line.cast(), child) }
        for child in [heading, line] { gtk_box_append(box.cast(), child) }
        return box
    }

    /// Returns a page without web content: two widgets in the middle.
    private static func page(_ first: Widget, _ second: Widget?) -> Widget? {
        guard let box = gtk_box_new(GTK_ORIENTATION_VERTICAL, 18) else { return nil }
        gtk_widget_set_valign(box, GTK_ALIGN_CENTER)
        gtk_widget_set_margin_start(box, 24)
        gtk_widget_set_margin_end(box, 24)
        for child in [first, second] { gtk_box_append(box.cast(), child) }
        return box
    }
}

// The content of the widgets.
extension PageWidgets {
    /// Shows the origin of the page in the header; `nil` shows nothing.
    func showOrigin(_ origin: PageOrigin?) {
        let isSecure = origin?.scheme == "https"
        gtk_label_set_text(OpaquePointer(self.origin), origin?.description ?? "")
        gtk_image_set_from_icon_name(
            OpaquePointer(lock),
            isSecure ? "channel-secure-symbolic" : "channel-insecure-symbolic"
        )
        let hint = isSecure ? texts.encrypted : texts.local
        gtk_widget_set_tooltip_text(lock, hint)
        identity_set_accessible_label(lock, hint)
        gtk_widget_set_visible(lock, origin == nil ? 0 : 1)
    }

    /// Shows one line above the page; `nil` removes it.
    func showNotice(_ text: String?) {
        gtk_label_set_text(OpaquePointer(notice), text ?? "")
        gtk_widget_set_visible(notice, text == nil ? 0 : 1)
    }

    /// Shows the progress of loading, and whether there is a previous page.
    func showProgress() {
        let isLoading = webkit_web_view_is_loading(view)
        gtk_progress_bar_set_fraction(OpaquePointer(progress), webkit_web_view_get_estimated_load_progress(view))
        gtk_widget_set_opacity(progress, isLoading == 0 ? 0 : 1)
        identity_set_accessible_hidden(progress, isLoading == 0 ? 1 : 0)
        gtk_widget_set_sensitive(back, webkit_web_view_can_go_back(view))
    }

    func show(_ state: PageWindow.State) {
        let name =
            switch state {
            case .page: "page"
            case .finishing: "finishing"
            case .problem: "problem"
            }
        gtk_stack_set_visible_child_name(OpaquePointer(stack), name)
        // GTK 4.8 shows a screen reader the hidden pages of a stack, too.
        var page = gtk_widget_get_first_child(stack)
        while let child = page {
            identity_set_accessible_hidden(child, child == gtk_stack_get_visible_child(OpaquePointer(stack)) ? 0 : 1)
            page = gtk_widget_get_next_sibling(child)
        }
        gtk_spinner_set_spinning(OpaquePointer(spinner), state == .finishing ? 1 : 0)
        guard case .problem(let text) = state else { return }
        gtk_label_set_text(OpaquePointer(problem), text)
        gtk_widget_grab_focus(retry)
    }

    /// Releases the retained objects.
    func release() {
        g_object_unref(view)
        g_object_unref(UnsafeMutableRawPointer(session))
    }
}

extension UnsafeMutablePointer {
    /// Casts the object to one of its other classes. The caller must know that the object has the class.
    func cast<Class>() -> UnsafeMutablePointer<Class> {
        UnsafeMutableRawPointer(self).assumingMemoryBound(to: Class.self)
    }
}
#endif
