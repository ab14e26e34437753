// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

#if WebView
import CWebKitGTK
import FoundationEssentials

// The functions that GTK and WebKit call, on the main context.
extension PageWindow {
    /// Connects all signals. The widgets retain this object until they are destroyed.
    func connect(_ widgets: PageWidgets) {
        let data = Unmanaged.passRetained(self).toOpaque()
        for (signal, callback) in Self.viewCallbacks { identity_connect(widgets.view, signal, callback, data) }
        identity_connect(
            UnsafeMutableRawPointer(widgets.session),
            "download-started",
            callback(Self.downloadStarted),
            data
        )
        identity_connect(widgets.back, "clicked", callback(Self.backClicked), data)
        identity_connect(widgets.retry, "clicked", callback(Self.retryClicked), data)
        identity_connect(widgets.window, "destroy", callback(Self.destroyed), data)
    }

    /// Disconnects all signals, because the view and its session may live on for a moment.
    func disconnect(_ widgets: PageWidgets) {
        let data = Unmanaged.passUnretained(self)
        identity_disconnect(widgets.view, data.toOpaque())
        identity_disconnect(UnsafeMutableRawPointer(widgets.session), data.toOpaque())
        data.release()
    }

    private static func of(_ data: gpointer?) -> PageWindow? {
        data.map { Unmanaged<PageWindow>.fromOpaque($0).takeUnretainedValue() }
    }

    private static var viewCallbacks: [(String, GCallback)] {
        [
            ("decide-policy", callback(decidePolicy)),
            ("load-changed", callback(loadChanged)),
            ("load-failed", callback(loadFailed)),
            ("load-failed-with-tls-errors", callback(tlsFailed)),
            ("web-process-terminated", callback(processEnded)),
            ("notify::title", callback(titleChanged)),
            ("notify::estimated-load-progress", callback(progressChanged)),
            ("permission-request", callback(permissionRequested)),
            ("run-file-chooser", callback(filesRequested)),
            ("print", callback(printRequested)),
        ]
    }
}

// MARK: Navigation

extension PageWindow {
    private typealias View = UnsafeMutablePointer<WebKitWebView>

    private static let decidePolicy:
        @convention(c) (View, UnsafeMutablePointer<WebKitPolicyDecision>, WebKitPolicyDecisionType, gpointer?) ->
            gboolean = { _, decision, type, data in
                guard let window = of(data) else { return 0 }
                guard type != WEBKIT_POLICY_DECISION_TYPE_RESPONSE else {
                    let response = OpaquePointer(decision)
                    guard webkit_response_policy_decision_is_mime_type_supported(response) == 0 else { return 0 }
                    webkit_policy_decision_ignore(decision)
                    window.notice(window.texts.noDownloads)
                    return 1
                }
                let action = webkit_navigation_policy_decision_get_navigation_action(OpaquePointer(decision))
                let request = webkit_navigation_action_get_request(action)
                let navigation = Navigation(
                    address: string(webkit_uri_request_get_uri(request)),
                    method: string(webkit_uri_request_get_http_method(request)),
                    opensWindow: type == WEBKIT_POLICY_DECISION_TYPE_NEW_WINDOW_ACTION,
                    isWanted: webkit_navigation_action_is_user_gesture(action) != 0
                )
                window.decide(navigation, decision)
                return 1
            }

    private static let loadChanged: @convention(c) (View, WebKitLoadEvent, gpointer?) -> Void = { view, event, data in
        guard let window = of(data) else { return }
        if event == WEBKIT_LOAD_STARTED { window.notice(nil) }
        if event == WEBKIT_LOAD_COMMITTED { window.committed(string(webkit_web_view_get_uri(view))) }
        window.widgets?.showProgress()
    }

    private static let loadFailed:
        @convention(c) (View, WebKitLoadEvent, UnsafePointer<CChar>?, UnsafePointer<GError>, gpointer?) -> gboolean = {
            _,
            _,
            address,
            error,
            data in
            guard identity_is_interruption(error) == 0 else { return 1 }
            guard let window = of(data) else { return 1 }
            let (origin, reason) = (PageOrigin(string(address)), string(error.pointee.message))
            window.failed(window.texts.filled(window.texts.notLoaded, origin, reason: reason))
            return 1
        }

    private static let tlsFailed:
        @convention(c) (View, UnsafePointer<CChar>?, OpaquePointer?, GTlsCertificateFlags, gpointer?) -> gboolean = {
            _,
            address,
            _,
            _,
            data in
            guard let window = of(data) else { return 1 }
            window.failed(window.texts.filled(window.texts.untrusted, PageOrigin(string(address))))
            return 1
        }

    private static let processEnded: @convention(c) (View, WebKitWebProcessTerminationReason, gpointer?) -> Void = {
        _,
        _,
        data in
        guard let window = of(data) else { return }
        window.failed(window.texts.stopped)
    }

    private static let titleChanged: @convention(c) (View, gpointer?, gpointer?) -> Void = { view, _, data in
        of(data)?.titled(string(webkit_web_view_get_title(view)))
    }

    private static let progressChanged: @convention(c) (View, gpointer?, gpointer?) -> Void = { _, _, data in
        of(data)?.widgets?.showProgress()
    }

    private static func string(_ text: UnsafePointer<CChar>?) -> String { text.map { String(cString: $0) } ?? "" }
}

// MARK: Requests that are refused

extension PageWindow {
    private static let permissionRequested: @convention(c) (View, OpaquePointer, gpointer?) -> gboolean = {
        _,
        request,
        _ in
        webkit_permission_request_deny(request)
        return 1
    }

    private static let filesRequested: @convention(c) (View, OpaquePointer, gpointer?) -> gboolean = { _, request, _ in
        webkit_file_chooser_request_cancel(request)
        return 1
    }

    private static let printRequested: @convention(c) (View, OpaquePointer, gpointer?) -> gboolean = { _, _, _ in 1 }

    private static let downloadStarted: @convention(c) (OpaquePointer, OpaquePointer, gpointer?) -> Void = {
        _,
        download,
        data in
        webkit_download_cancel(download)
        guard let window = of(data) else { return }
        window.notice(window.texts.noDownloads)
    }
}

// MARK: The window

extension PageWindow {
    private static let backClicked: @convention(c) (Widget, gpointer?) -> Void = { _, data in of(data)?.goBack() }
    private static let retryClicked: @convention(c) (Widget, gpointer?) -> Void = { _, data in of(data)?.load() }
    private static let destroyed: @convention(c) (Widget, gpointer?) -> Void = { _, data in of(data)?.gone() }
}

/// Casts a function to GLib's general callback type. Each signal has its own function type.
private func callback<Function>(_ function: Function) -> GCallback {
    unsafeBitCast(function, to: GCallback.self)
}
#endif
