// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0
//
// WebKitGTK, and functions for the parts of it that Swift cannot call: macros and variadic functions.
#ifndef IDENTITY_CWEBKITGTK_H
#define IDENTITY_CWEBKITGTK_H

#include <webkit/webkit.h>

/// A web view whose cookies and storage live in `session` alone.
static inline WebKitWebView *identity_web_view_new(WebKitNetworkSession *session) {
    return WEBKIT_WEB_VIEW(g_object_new(WEBKIT_TYPE_WEB_VIEW, "network-session", session, NULL));
}

static inline void identity_connect(gpointer object, const char *signal, GCallback callback, gpointer data) {
    g_signal_connect(object, signal, callback, data);
}

static inline void identity_disconnect(gpointer object, gpointer data) {
    g_signal_handlers_disconnect_by_data(object, data);
}

/// What screen readers call a widget that shows no text.
static inline void identity_set_accessible_label(GtkWidget *widget, const char *label) {
    gtk_accessible_update_property(GTK_ACCESSIBLE(widget), GTK_ACCESSIBLE_PROPERTY_LABEL, label, -1);
}

static inline void identity_set_accessible_hidden(GtkWidget *widget, gboolean hidden) {
    gtk_accessible_update_state(GTK_ACCESSIBLE(widget), GTK_ACCESSIBLE_STATE_HIDDEN, hidden, -1);
}

/// Gives a page of a stack an empty name, where GTK would take that of its class.
static inline void identity_hush(GtkStackPage *page) {
    gtk_accessible_update_property(GTK_ACCESSIBLE(page), GTK_ACCESSIBLE_PROPERTY_LABEL, "", -1);
}

/// An icon in a widget with a name of its own. Screen readers would call the icon by its class.
static inline GtkWidget *identity_icon_new(const char *name) {
    return g_object_new(GTK_TYPE_IMAGE, "icon-name", name, "accessible-role", GTK_ACCESSIBLE_ROLE_PRESENTATION, NULL);
}

/// Whether a load ended because it was refused or stopped on this side, and not by a failure.
static inline gboolean identity_is_interruption(const GError *error) {
    return g_error_matches(error, WEBKIT_POLICY_ERROR, WEBKIT_POLICY_ERROR_FRAME_LOAD_INTERRUPTED_BY_POLICY_CHANGE)
        || g_error_matches(error, WEBKIT_NETWORK_ERROR, WEBKIT_NETWORK_ERROR_CANCELLED);
}

#endif
