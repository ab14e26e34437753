// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

#if WebView
import CWebKitGTK

/// A web view that stores nothing and gives a page no access to this computer.
enum PrivateWebView {
    /// Returns a session in memory and a view in it. The caller owns both.
    static func make() -> (session: OpaquePointer, view: UnsafeMutablePointer<WebKitWebView>)? {
        guard let session = webkit_network_session_new_ephemeral() else { return nil }
        // The default, set explicitly because security depends on it: only certificates that the system trusts are
        // accepted.
        webkit_network_session_set_tls_errors_policy(session, WEBKIT_TLS_ERRORS_POLICY_FAIL)
        guard let view = identity_web_view_new(session), let settings = webkit_web_view_get_settings(view) else {
            g_object_unref(UnsafeMutableRawPointer(session))
            return nil
        }
        webkit_settings_set_enable_developer_extras(settings, 0)
        webkit_settings_set_allow_file_access_from_file_urls(settings, 0)
        webkit_settings_set_allow_universal_access_from_file_urls(settings, 0)
        webkit_settings_set_javascript_can_open_windows_automatically(settings, 0)
        webkit_settings_set_javascript_can_access_clipboard(settings, 0)
        // A full-screen page would cover the address.
        webkit_settings_set_enable_fullscreen(settings, 0)
        webkit_settings_set_enable_media_stream(settings, 0)
        webkit_settings_set_enable_webrtc(settings, 0)
        return (session, view)
    }
}
#endif
