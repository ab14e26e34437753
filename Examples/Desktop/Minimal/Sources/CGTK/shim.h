// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0
//
// GTK, and what of it Swift cannot call, or only with many words.

#pragma once

#include <gtk/gtk.h>

// Calls handler whenever the signal is emitted, without the signal's arguments.
static inline void minimal_connect(gpointer instance, const char *signal, void (*handler)(gpointer unused)) {
    g_signal_connect_swapped(instance, signal, G_CALLBACK(handler), NULL);
}

// Sets the text that a screen reader says after the widget's name, and again when the text changes while the widget has
// the focus.
static inline void minimal_describe(GtkWidget *widget, const char *text) {
    gtk_accessible_update_property(GTK_ACCESSIBLE(widget), GTK_ACCESSIBLE_PROPERTY_DESCRIPTION, text, -1);
}

// Closes the window with Ctrl+W and Ctrl+Q.
static inline void minimal_add_keys(GtkApplication *application) {
    const char *keys[] = {"<Control>w", "<Control>q", NULL};
    gtk_application_set_accels_for_action(application, "window.close", keys);
}
